"""The deep-web paper's rules for form types, by the kinds of fields first and search words second.
They need no training."""

from __future__ import annotations

from typing import NamedTuple

from deepweb.field_roles import FieldRole
from deepweb.form_types import FormType
from deepweb.form_words import concepts_in
from deepweb.search_forms import Form

_CHOICES = ("select", "radio", "checkbox")
_BUTTONS = ("submit", "image", "button")


class RuleVerdict(NamedTuple):
    """The type of a form by the rules, and the name of the rule that decided."""

    type: FormType
    rule: str


def rule_type(form: Form) -> RuleVerdict:
    """Returns the type of a form by the rules of the deep-web paper, and the rule that decided. The
    first that applies decides:

    1. Password fields: login or registration; password recovery if there is nothing else. 2. A text
      area: contact. 3. A file
    field: other. 4. A quantity, or words of an order and none of a search: order. 5. Nothing to
    fill in: other. 6. An e-mail, phone or captcha field, at most two one-line inputs: newsletter,
    or password recovery if its words say so. 7. Another e-mail field: registration if its words say
    so, else other. 8. A search word in tag, button or prompt, or a query field: search.
    9. One text box sent by GET: search. All else: other.
    """
    passwords, lines = (
        form.of_kind("password"),
        form.of_kind("text", "search", "email", "tel", "url", "number"),
    )
    concepts = concepts_in(_tag_words(form))
    if passwords:
        return _with_password(form, len(passwords), len(lines), concepts)
    if form.of_kind("textarea"):
        return RuleVerdict(FormType.CONTACT, "textarea")
    if form.of_kind("file"):
        return RuleVerdict(FormType.OTHER, "file")
    roles = {field.role for field in form.fields}
    if FieldRole.QUANTITY in roles or ("order" in concepts and "search" not in concepts):
        return RuleVerdict(FormType.ORDER, "order_words")
    if not lines and not form.of_kind("select", "date", "month", "range"):
        return RuleVerdict(FormType.OTHER, "nothing_to_fill")
    if roles & {FieldRole.EMAIL, FieldRole.PHONE, FieldRole.CAPTCHA} and len(lines) <= 2:
        recovery = "recover" in concepts or "recover" in concepts_in(form.text[:400])
        return RuleVerdict(
            FormType.PASSWORD_RECOVERY if recovery else FormType.NEWSLETTER, "mailing_list"
        )
    if FieldRole.EMAIL in roles:
        return RuleVerdict(
            FormType.REGISTRATION if "register" in concepts else FormType.OTHER, "personal"
        )
    if "search" in concepts or FieldRole.QUERY in roles:
        return RuleVerdict(FormType.SEARCH, "search_word")
    if len(lines) == 1 and form.method == "get":
        return RuleVerdict(FormType.SEARCH, "one_box_get")
    return RuleVerdict(FormType.OTHER, "none")


def _with_password(form: Form, passwords: int, lines: int, concepts: frozenset[str]) -> RuleVerdict:
    if passwords >= 2:
        return RuleVerdict(
            FormType.PASSWORD_RECOVERY if not lines else FormType.REGISTRATION, "two_passwords"
        )
    if lines <= 2 and not ("register" in concepts and "login" not in concepts):
        return RuleVerdict(FormType.LOGIN, "one_password")
    many = lines > 2 or any(form.of_kind(kind) for kind in _CHOICES)
    return RuleVerdict(
        FormType.REGISTRATION if many or "register" in concepts else FormType.LOGIN,
        "password_and_more",
    )


def _tag_words(form: Form) -> str:
    buttons = " ".join(
        f"{field.label} {field.value} {field.placeholder} {field.name}"
        for field in form.fields
        if field.kind in _BUTTONS
    )
    prompts = " ".join(field.placeholder for field in form.text_fields)
    action = form.action if form.action != form.page_url else ""
    return f"{action.split('://')[-1].partition('/')[2]} {form.css} {buttons} {prompts}"
