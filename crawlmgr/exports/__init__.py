"""Exports: tables as files in six formats, saved definitions of exports, and their pages."""
