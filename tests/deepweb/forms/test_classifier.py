"""The form classifier: our evaluation compared with scikit-learn's, the file format, and the
shipped weights on forms in many languages."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from deepweb.form_roles import asks_for_something_else, with_roles
from deepweb.forms.classifier import (
    Classification,
    ModelError,
    can_be_asked,
    classify_html,
    counts,
    load_model,
    model_from_json,
    rule_type,
    shipped_model,
)
from deepweb.forms.field_roles import role_of
from deepweb.forms.types import FormType
from deepweb.search_forms import read_forms
from deepweb.submission import refusal
from tests.deepweb.forms_by_hand import PAGES
from tests.training.forms import (
    TrainingError,
    cross_validate,
    example_of,
    folds_by_domain,
    predict_by_rules,
    predictions,
    read_examples,
    score,
    train,
)

FORMS = Path(__file__).resolve().parents[4] / "shared" / "data" / "forms" / "forms.jsonl.gz"


def examples(domains=6):
    return [
        example_of(
            {
                "html": html,
                "url": f"http://site{domain}.example/p",
                "type": kind,
                "domain": f"d{domain}",
            }
        )
        for domain in range(domains)
        for kind, pages in PAGES.items()
        for html in pages
    ]


def test_our_evaluation_equals_scikit_learns():
    known = examples()
    model = train(known)
    names = list(model.weights)
    rows = []
    for example in known:
        row = np.zeros(len(names))
        said = [word for word in example.words if word in model.weights]
        for place, name in enumerate(names):
            if name in said:
                row[place] = 2.0 / len(said) ** 0.5
            elif "=" not in name:
                row[place] = example.numbers.get(name, 0.0)
        rows.append(row)
    theirs = LogisticRegression()
    theirs.classes_ = np.array([str(name) for name in model.classes])
    theirs.coef_ = np.array([model.weights[name] for name in names]).T
    theirs.intercept_ = model.bias
    ours = np.array([model.probabilities_of(example.numbers, example.words) for example in known])
    assert ours == pytest.approx(
        theirs.predict_proba(sparse.csr_matrix(np.array(rows)).toarray()), abs=1e-9
    )
    assert ours.sum(axis=1) == pytest.approx(np.ones(len(known)))
    assert all(
        model.classes[int(share.argmax())] is example.type
        for share, example in zip(ours, known, strict=True)
    )


def test_training_of_two_types_and_of_too_few():
    two = [example for example in examples() if example.type in ("search", "login")]
    model = train(two)
    assert all(model.classify(example.form).type is example.type for example in two)
    with pytest.raises(TrainingError, match="two types"):
        train([example for example in two if example.type == "login"])
    with pytest.raises(TrainingError, match="folds"):
        cross_validate(examples(domains=3))
    with pytest.raises(TrainingError, match="no form type"):
        example_of({"html": "", "url": "", "type": "poem"})


def test_the_file_keeps_the_model_and_damage_is_told(tmp_path):
    model = train(examples())
    path = tmp_path / "m.json"
    path.write_text(json.dumps(model.to_json()))
    again = load_model(path)
    for example in examples(1):
        assert again.probabilities(example.form) == pytest.approx(
            model.probabilities(example.form), abs=0.01
        )
    for change, reason in (
        ({"format": "x"}, "no form model"),
        ({"version": 99}, "train it anew"),
        ({"bias": [1]}, "another shape"),
        ({"classes": ["poem"]}, "damaged"),
        ({"weights": {"a": [1, None, 3]}}, "damaged|no numbers"),
        ({"weights": 7}, "damaged"),
    ):
        with pytest.raises(ModelError, match=reason):
            model_from_json(model.to_json() | change)
    path.write_text("{")
    with pytest.raises(ModelError, match="no JSON"):
        load_model(path)


def test_folds_never_split_a_domain_and_scores_are_counted_by_hand():
    folds = folds_by_domain([f"d{i}" for i in range(23)] * 3, 5, 1)
    assert sorted(np.bincount(list(folds.values()))) == [4, 4, 5, 5, 5]
    s, n = FormType.SEARCH, FormType.LOGIN
    scores = score([s, s, s, n], [s, s, n, n])
    assert (scores.accuracy, scores.f1["search"], scores.f1["login"]) == (
        0.75,
        0.8,
        pytest.approx(2 / 3),
    )
    assert scores.confusion["search"] == {"login": 1, "search": 2}


@pytest.mark.parametrize(
    ("kind", "html"),
    [
        (
            "search",
            (
                "<form action='/sou'><input name=wd placeholder='请输入关键词'><input type=submit"
                " value='搜索'></form>"
            ),
        ),
        (
            "search",
            (
                "<form action='index.php'><input type=hidden name=m value=search><input"
                " name=keywords><button>検索</button></form>"
            ),
        ),
        (
            "search",
            (
                "<form action='/list'><select name=cat><option>A<option>B</select><input"
                " name=keyword><button>Zoeken</button></form>"
            ),
        ),
        (
            "login",
            (
                "<form method=post action='/denglu'>用户名<input name=u>密码<input type=password"
                " name=p><button>登录</button></form>"
            ),
        ),
        (
            "registration",
            (
                "<form method=post action='/kayit'>Adınız<input name=a>E-posta<input"
                " name=e>Şifre<input type=password name=p>Şifre tekrar<input type=password"
                " name=p2><button>Üye ol</button></form>"
            ),
        ),
        (
            "newsletter",
            (
                "<form method=post action='/dingyue'><input name=email"
                " placeholder='您的邮箱'><button>订阅</button></form>"
            ),
        ),
        (
            "contact",
            (
                "<form method=post action='/liuyan'>姓名<input name=n>电话<input"
                " name=t>内容<textarea name=c></textarea><button>提交留言</button></form>"
            ),
        ),
        (
            "password_recovery",
            (
                "<form method=post action='/odzyskaj'>E-mail<input name=email><button>Odzyskaj"
                " hasło</button></form>"
            ),
        ),
        (
            "order",
            (
                "<form method=post action='/gouwuche/add'>数量<input name=num"
                " value=1><button>加入购物车</button></form>"
            ),
        ),
    ],
)
def test_the_shipped_model_reads_languages_it_was_hardly_trained_on(kind, html):
    form, verdict = classify_html(html, "http://example.org/", shipped_model())
    assert verdict.type == kind
    assert verdict.searchable is (kind == "search")
    assert verdict.confidence == pytest.approx(max(verdict.probabilities.values())) and sum(
        verdict.probabilities.values()
    ) == pytest.approx(1)


def test_of_a_page_with_many_forms_the_search_form_is_meant_and_no_form_is_other():
    page = PAGES["login"][0] + PAGES["search"][0] + PAGES["newsletter"][0]
    form, verdict = classify_html(page, "http://example.org/", shipped_model())
    assert form is not None and form.index == 1 and verdict.type == "search"
    form, verdict = classify_html(
        PAGES["newsletter"][0] + PAGES["login"][0], "http://example.org/", shipped_model()
    )
    assert form is not None and form.index == 1 and not verdict.searchable
    assert classify_html("<p>nothing", "http://example.org/", shipped_model())[1].type == "other"


@pytest.mark.parametrize(
    ("kind", "rule", "html"),
    [
        (
            "search",
            "search_word",
            "<form method=post action=/x><input name=a><input type=submit value=Search></form>",
        ),
        ("search", "one_box_get", "<form action=/x><input name=a></form>"),
        ("other", "none", "<form method=post action=/x><input name=a></form>"),
        ("login", "one_password", "<form><input name=q><input type=password name=p></form>"),
        (
            "registration",
            "two_passwords",
            "<form><input name=q><input type=password name=p><input type=password name=p2></form>",
        ),
        ("contact", "textarea", "<form action=/search><textarea name=q></textarea></form>"),
        ("other", "file", "<form action=/search><input name=q><input type=file name=f></form>"),
        ("newsletter", "mailing_list", "<form action=/search><input name=email></form>"),
        ("other", "nothing_to_fill", "<form><input type=checkbox name=a></form>"),
        ("order", "order_words", "<form action=/cart/add><input name=n></form>"),
    ],
)
def test_rules(kind, rule, html):
    assert rule_type(read_forms(html, "http://example.org/p")[0]) == (kind, rule)


@pytest.mark.slow
@pytest.mark.skipif(not FORMS.exists(), reason="the shared labelled forms are not here")
def test_labelled_forms_of_unseen_domains_meet_the_bar_and_no_other_form_is_sent():
    known = read_examples(FORMS)
    truth = [example.type for example in known]
    told = predictions(known)
    learned, rules = score(truth, [kind for kind, _ in told]), score(truth, predict_by_rules(known))
    assert learned.accuracy >= 0.915 and learned.f1["search"] >= 0.955 and learned.macro_f1 >= 0.895
    assert 0.80 <= rules.accuracy < learned.accuracy
    sent = [
        (example.domain, example.type)
        for example, (kind, sure) in zip(known, told, strict=True)
        if refusal(
            with_roles(example.form),
            Classification(kind, sure, kind == "search" and can_be_asked(example.form), {}),
            False,
        )
        is None
        and not asks_for_something_else(example.form)
    ]
    assert not [pair for pair in sent if pair[1] == "other"]
    assert sum(kind == "search" for _, kind in sent) > 150, (
        "GET forms that are surely searches are sent without asking"
    )


@pytest.mark.parametrize(
    "html",
    [
        "<form method=post action=/track><label>Parcel number<input name=no></label><button>Track"
        " your parcel</button></form>",
        "<form method=post action=/auftragsstatus><input name=auftragsnummer"
        " placeholder=Auftragsnummer><input name=plz placeholder=PLZ><button>Status</button>"
        "</form>",
        "<form action=/suivi method=post><input name=numero placeholder='Numéro de commande'><input"
        " type=email name=mel><button>Suivre</button></form>",
        "<form method=post action=/order_status><input name=order_id>Номер заказа<button>Узнать"
        " статус</button></form>",
    ],
)
def test_a_look_up_of_an_order_by_its_number_is_not_sent(html):
    form, verdict = classify_html(html, "http://shop.example/", shipped_model())
    assert verdict.type is FormType.OTHER or refusal(form, verdict, False) is not None


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("textarea", "recaptcha_challenge_field", "captcha"),
        ("textarea", "g-recaptcha-response", "captcha"),
        ("textarea", "comment", "message"),
        ("text", "zip-code", "address"),
        ("text", "postcode", "address"),
        ("text", "code", "captcha"),
    ],
)
def test_the_area_of_a_captcha_is_no_message_and_a_zip_code_no_captcha(kind, name, role):
    assert role_of(kind, name, "", 0) == role


def test_a_registration_with_the_area_of_a_captcha_is_no_contact():
    html = "<form method=post><input name=user><input type=password name=a><input type=password"
    html += " name=b>{}</form>"
    plain, guarded = (
        read_forms(html.format(area), "http://x.org/")[0]
        for area in ("", "<textarea name=recaptcha_challenge_field></textarea>")
    )
    assert rule_type(plain).type is rule_type(guarded).type is FormType.REGISTRATION
    assert counts(guarded).get("kind:textarea") is None
