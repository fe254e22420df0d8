"""Access: users, roles, logins, tokens of the API, and the encryption of secrets."""
