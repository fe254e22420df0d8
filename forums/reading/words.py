"""Language data: words beside the fields of forums in many languages, and class names used for these fields."""

from __future__ import annotations

import re
from functools import lru_cache


def _any(*words: str) -> re.Pattern[str]:
    """Returns a pattern that matches any of these words: words of Latin, Cyrillic and similar scripts only as whole words,
    words of scripts without spaces anywhere."""
    spaced = [word for word in words if re.match(r"[\w(]", word) and word[0] < "\u2e80"]
    dense = [word for word in words if word not in spaced]
    parts = []
    if spaced:
        parts.append(r"(?<![^\W\d_])(?:" + "|".join(spaced) + r")(?![^\W\d_])")
    parts.extend(dense)
    return re.compile("|".join(parts), re.I)


REPLIES = _any(
    "repl(?:y|ies)", "responses?", "answers?", "antwort(?:en)?", "antw", "réponses?", "reponses?", "rép", "respuestas?", "resp",
    "risposte?", "respostas?", "reacties?", "antwoorden", "ответ(?:ы|ов|а|ах)?", "отв", "odpowiedzi", "odp", "svar", "vastauksia",
    "vastaukset", "yanıt(?:lar)?", "cevap(?:lar)?", "відповід(?:і|ей)", "balasan", "trả lời", "hozzászólás", "válaszok",
    "回复", "回覆", "回應", "回应", "回帖", "跟帖", "跟贴", "答复", "答覆", "回答", "返信", "レス", "返答", "댓글", "답글", "답변", "ردود", "الردود", "תגובות",
)  # fmt: skip
COMMENTS = _any(
    "comments?", "kommentar(?:e|en)?", "commentaires?", "comentarios?", "commenti", "comentários?", "комментари(?:и|ев|й|я)", "评论", "評論",
    "コメント", "yorum(?:lar)?", "kommentit", "kommentarer", "reacties",
)  # fmt: skip
POSTS = _any(
    "posts?", "messages?", "beitr[aä]ge?", "nachrichten", "msgs?", "mensajes?", "messaggi", "mensagens", "berichten", "сообщени(?:я|й|е|ях)",
    "posty", "postów", "inlägg", "viestit", "viestejä", "mesaj(?:lar)?", "повідомлення", "wiadomości", "indlæg", "innlegg",
    "帖子", "帖数", "帖數", "文章", "投稿", "贴子", "発言", "게시물", "글수", "المشاركات", "הודעות", "主题帖数", "总帖数", "發帖", "发帖",
)  # fmt: skip
TOPICS = _any(
    "topics?", "threads?", "discussions?", "sujets?", "themen", "thema", "temas?", "argomenti", "discussioni", "discusiones", "tópicos?",
    "onderwerpen", "тем(?:ы|а|ах|е)?", "tematy", "ämnen", "aiheet", "konu(?:lar)?", "теми", "emner", "tråder", "tråde", "conversations?",
    "subjects?", "questions?", "hilos?", "stories",
    "主题", "主題", "话题", "話題", "トピック", "スレッド", "주제", "المواضيع", "נושאים", "标题", "標題",
)  # fmt: skip
VIEWS = _any(
    "views", "viewed", "view count", "hits?", "reads", "visits", "zugriffe", "aufrufe", "gelesen", "ansichten", "hits", "vues?", "vus?", "lectures?",
    "affichages?", "vistas?", "visitas?", "lecturas?", "visite", "letture", "visualizzazioni", "visualizações", "exibições",
    "gelezen", "weergaven", "bekeken", "просмотр(?:ы|ов|а|ах)?", "просм", "wyświetle(?:nia|ń)", "odsłon(?:y)?", "visningar", "lukukerrat",
    "görüntülenme", "gösterim", "okunma", "перегляд(?:и|ів)", "visninger", "dilihat", "lượt xem", "megtekintés", "fois lu",
    "查看", "浏览", "瀏覽", "人气", "人氣", "点击", "點擊", "阅读", "閱讀", "閲覧", "表示", "조회", "مشاهدات", "צפיות",
)  # fmt: skip
LAST = _any(
    "last", "latest", "newest", "most recent", "recent", "activity", "active", "updated?", "letzter?", "letzte[rsn]?", "neuester?",
    "neuste[rs]?", "derni[eè]re?s?", "récent", "[uú]ltim[oa]s?", "ultim[oi]", "laatste", "последн(?:ее|ий|яя|ие)", "посл", "ostatni",
    "senaste", "sista", "viimeinen", "viimeisin", "son mesaj", "son", "останн(?:є|ій)", "siste", "seneste", "actividad", "activité",
    "aktivität", "mới nhất", "terakhir", "replied", "lastpost", "freshness", "bump(?:ed)?", "modified", "обновлен(?:о|ие)",
    "最后", "最後", "最新", "最近", "最終", "更新", "回复时间", "最后发表", "마지막", "최근", "آخر", "אחרונה", "活跃", "更新时间", "回复于",
)  # fmt: skip
CREATED = _any(
    "started", "created", "opened", "asked", "begun", "starter", "submitted", "published", "posted", "verfasst", "добавлен(?:о|а)?", "erstellt", "begonnen", "gestartet",
    "eröffnet", "créé", "commencé", "lancé", "ouvert", "creado", "iniciado", "empezado", "creato", "iniziat[ao]", "criado", "gestart",
    "создан(?:а|о)?", "начат[ао]?", "автор", "utworzon[oy]", "rozpoczęty", "startad", "aloitettu", "opprettet", "oprettet", "added",
    "发表于", "發表於", "发布", "發佈", "发帖", "發帖", "发起", "創建", "创建", "作成", "投稿日", "작성", "发表", "發表", "提问",
)  # fmt: skip
AUTHOR = _any(
    "by", "author", "poster", "starter", "started by", "user", "member", "owner", "posted by", "created by", "von", "autore?", "verfasser",
    "ersteller", "auteur", "par", "de", "por", "da", "di", "autor(?:a|en)?", "creador", "door", "автор", "от", "autor", "przez", "av", "skribent",
    "kirjoittaja", "yazar", "gönderen", "af", "starter", "benutzer", "name", "writer", "op", "asked by", "written by", "submitted by",
    "作者", "楼主", "樓主", "发帖人", "发布者", "發表人", "投稿者", "作成者", "글쓴이", "작성자", "الكاتب", "נכתב", "发起人", "主題作者",
)  # fmt: skip
PINNED = _any(
    "sticky", "stickied", "stuck", "pinned", "pin", "announcements?", "announce", "important", "global", "featured", "wichtig(?:e)?",
    "angepinnt", "ankündigung(?:en)?", "angeheftet", "annonces?", "épinglé", "post-it", "importante?", "anuncios?", "fijado", "fijo", "evidenza",
    "in rilievo", "annunci(?:o)?", "fixo", "anúncios?", "fixado", "belangrijk", "vastgezet", "важн(?:ая|о|ое|ые)", "прикреплен(?:о|а|ная)?",
    "закреплен(?:о|а|ная)?", "объявлени(?:е|я)", "przyklejony", "ważne", "ogłoszenie", "viktigt?", "klistrad", "tiedote", "kiinnitetty",
    "sabit", "önemli", "duyuru", "вкладено", "thumb.?tack", "topped", "ontop", "top_?icon", "pin_?icon",
    "置顶", "置頂", "公告", "本版置顶", "全局置顶", "重要", "固定", "告知", "お知らせ", "공지", "고정", "مثبت", "נעוץ", "顶置",
)  # fmt: skip
LOCKED = _any(
    "locked", "closed", "lock", "geschlossen", "gesperrt", "verrouillé", "fermé", "cerrado", "bloqueado", "chiuso", "bloccat[oa]", "fechado",
    "trancado", "gesloten", "закрыт(?:а|о)?", "zamknięty", "låst", "stängd", "lukittu", "kilitli", "закрито", "lukket",
    "锁定", "鎖定", "关闭", "關閉", "已锁", "ロック", "잠김", "مغلق", "נעול",
)  # fmt: skip
BOARD = _any(
    "forums?", "boards?", "categor(?:y|ies)", "foren", "forenübersicht", "rubriques?", "catégories?", "foros?", "categor[ií]as?", "forumi?",
    "sezioni?", "fóruns?", "форум(?:ы)?", "раздел(?:ы)?", "fora", "sections?", "sub-?forums?", "rooms?", "groups?", "bereiche?",
    "版块", "板块", "论坛", "論壇", "分区", "版面", "フォーラム", "掲示板", "게시판", "分类", "分類", "吧", "节点",
)  # fmt: skip
JOINED = _any(
    "joined", "join date", "registered", "registriert(?: seit)?", "beigetreten", "dabei seit", "anmeld(?:e|ungs)datum", "registrierungsdatum", "angemeldet (?:seit|am)", "mitglied seit", "inscrit",
    "inscription", "registrado", "registro", "se unió", "desde", "iscritto", "registrato", "membro", "geregistreerd", "lid sinds",
    "lid geworden", "зарегистрирован[а]?", "регистрация", "с нами с", "dołączył[a]?", "rejestracja", "gick med", "reg", "liittynyt",
    "kayıt", "member since", "since", "registration", "last (?:seen|active|visit|online|login)", "last logged", "offline since", "birthday",
    "date of birth", "location", "last activity", "user since", "reg date", "reg\\.? date", "membre depuis", "катег",
    "注册", "註冊", "注册时间", "最后登录", "登録", "가입", "加入", "在线时间", "最后登錄", "上次登录",
)  # fmt: skip
EDITED = _any(
    "edit(?:ed)?", "modified", "updated", "bearbeitet", "geändert", "modifié", "édité", "editado", "modificad[oa]", "modificato",
    "отредактирован[оа]?", "редактировал[ось]*", "исправлен[оа]?", "gewijzigd", "bewerkt", "edytowany", "redigerad", "muokattu", "düzenle",
    "edité", "edición", "aangepast", "last edit", "zuletzt",
    "编辑", "編輯", "修改", "編集", "수정",
)  # fmt: skip
EDIT_LINE = re.compile(
    r"^\W{0,3}(?:(?:this (?:post|message|comment|topic) (?:was|has been) (?:last )?(?:edited|modified|updated))|last edit(?:ed)?(?: by| on|:| \d| an? )|"
    r"edited (?:by|on|at|\d)|edit(?:ed)?:? ?\d|(?:zuletzt|dieser beitrag wurde|geändert von|bearbeitet (?:von|am))|"
    r"(?:derni[eè]re (?:modification|édition)|message édité|modifié (?:par|en dernier|il y a|le )|édité )|(?:(?:última |ú?ltima )?(?:edición|editad[oa]|modificad[oa])"
    r"(?: por|:)?)|(?:последний раз (?:редактировалось|отредактировано)|отредактировано|измен[её]но |сообщение отредактировал)|(?:ultima modifica)|"
    r"本帖最后由|本帖最後由|\[? ?本帖|最[后後](?:进行|進行|一次)?(?:编辑|編輯|修改)|[由被] ?\S{1,24} ?[于於在].{4,30}(?:编辑|編輯|修改)|编辑于|編輯於|此帖(?:已|由)|最終(?:編集|更新))",
    re.I,
)

CLASS_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("replies", re.compile(r"repl(?:y|ies)|answers?|respon|回复|antwort|postcount|num_?post|comment_?s?_?count|count_?(?:repl|comment)", re.I)),
    ("comments", re.compile(r"comment", re.I)),
    ("posts", re.compile(r"posts?(?![a-z])|messages?", re.I)),
    ("topics", re.compile(r"topics?|threads?|discussions?", re.I)),
    ("views", re.compile(r"(?<![a-z])eye(?![a-z])|(?<!re)(?<!pre)(?<!over)views?(?!er)|hits?(?![a-z])|visits?|(?<![a-z])reads?(?![a-z])", re.I)),
    ("last", re.compile(r"last|latest|recent|activity|fresh", re.I)),
    ("author", re.compile(r"author|poster(?![a-z])|starter|user|nick|member|byline|creator|owner|\bby\b|(?<![a-z])op(?![a-z])|submitter", re.I)),
    ("created", re.compile(r"start|creat|publish|opened", re.I)),
    ("title", re.compile(r"title|subject|topic-?name|topic_?link|(?:topic|thread|discussion|forum|board|cat(?:egory)?)(?:title|name|link)|headline|sub(?![a-z])|xst", re.I)),
    ("avatar", re.compile(r"avatar|photo|gravatar|userpic|face(?![a-z])|profile-?pic", re.I)),
    ("pager", re.compile(r"pag(?:e|er|es|inat|ing|ination)(?:[^a-z]|$|s|nav|jump|links?)|multipage|gotopage|tps(?![a-z])|minipag", re.I)),
    ("excerpt", re.compile(r"excerpt|preview|summary|teaser|snippet|desc(?:ription)?(?![a-z])|blurb|abstract", re.I)),
    ("tag", re.compile(r"(?:^|[-_ ])tags?(?![a-z])|label|prefix|badge|flair", re.I)),
    ("likes", re.compile(r"like|vote|score|point|rating|karma|reputation|thank|stars?(?![a-z])|upvot|reaction", re.I)),
    ("signature", re.compile(r"sig(?:nature)?(?![a-z])|signed", re.I)),
    ("quote", re.compile(r"quote(?!able)|cite|blockcode|spoiler", re.I)),
    ("body", re.compile(r"body|content|text|message|entry|markdown|cooked|t_f(?![a-z])|postmsg|prose", re.I)),
    ("edit", re.compile(r"edit|modified|pstatus", re.I)),
    ("date", re.compile(r"date|time|when|ago|posted|age(?![a-z])", re.I)),
)  # fmt: skip

SUBJECT_WORDS = (
    re.compile(r"forum|board|bbs|论坛|論壇|版块|版塊|форум|포럼|フォーラム|掲示板"),
    re.compile(r"topic|thread|discussion|主题|主題|帖|тем[аыу]|sujet|thema|mensaje|message|스레드|スレッド"),
    re.compile(r"repl|post|回复|回覆|сообщ|réponse|antwort|comment|답글|返信"),
)
"""Words about forums, threads and posts that pages of forums contain more often than other pages, one pattern for each. They
are searched in lower-case texts, also inside longer words."""
_SPLIT = re.compile(r"([a-z0-9])([A-Z])")


@lru_cache(maxsize=8192)
def class_roles(classes: str) -> frozenset[str]:
    """Returns the roles (fields such as "replies" or "author") that the class names of an element suggest, by CLASS_ROLES."""
    words = _SPLIT.sub(r"\1-\2", classes)
    return frozenset(role for role, pattern in CLASS_ROLES if pattern.search(words))


TEXT_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("replies", REPLIES), ("comments", COMMENTS), ("posts", POSTS), ("topics", TOPICS), ("views", VIEWS), ("last", LAST),
    ("created", CREATED), ("author", AUTHOR), ("board", BOARD), ("joined", JOINED), ("edit", EDITED),
)  # fmt: skip


@lru_cache(maxsize=8192)
def text_roles(text: str) -> frozenset[str]:
    """Returns the roles (fields such as "replies" or "author") that a label, a header cell or a title attribute names, by
    TEXT_ROLES."""
    return frozenset(role for role, pattern in TEXT_ROLES if pattern.search(text))

BY = re.compile(
    r"^(?:(?:(?:topic |thread )?started|asked|created|posted|written|submitted|last (?:post|reply|message)|replied|latest reply|most recent)?\s*(?:by|from)|"
    r"author|poster|von|par|por|da|di|de|door|от|автор|przez|av|af|autor|auteur|由|作者|楼主|樓主|发帖人|by user|最后回复|最後回覆|最后发表|投稿者|创建者)"
    r"(?=\s|[:：]|$)\s*[:：]?\s*",
    re.I,
)

NOT_NAMES = {
    "reply", "quote", "report", "edit", "delete", "like", "share", "permalink", "link", "top", "up", "member", "members", "offline",
    "online", "admin", "administrator", "moderator", "guest", "newbie", "op", "author", "topic author", "original poster", "new", "pm",
    "profile", "www", "email", "website", "post", "posts", "message", "messages", "registered user", "registered", "user", "junior member",
    "senior member", "来自", "回复", "引用", "举报", "楼主", "只看该作者", "编辑", "分享", "发表于", "顶", "踩", "广告", "收藏", "电梯直达",
    "发消息", "发短消息", "发私信", "私信", "加好友", "查看资料", "串个门", "打招呼", "zitieren", "antworten", "citer", "répondre", "citar", "responder", "ответить", "цитировать", "登录", "注册",
}  # fmt: skip

RANK = re.compile(r"^[\w ]{1,24} (?:member|moderator|administrator|user|poster|contributor|mitglied|участник|会员|會員)$|^[\w]{0,6}会员$", re.I)
ADVERTISERS = frozenset(
    """advertisement advertisements advertiser advertising ad ads sponsor sponsored sponsors publicité publicidad publicidade pubblicità
    werbung anzeige reklama реклама 广告 廣告 推广 広告 google adsense""".split()
)
QUOTED = re.compile(
    r"^(?:(?:quote|quoting|zitat|citation|cita|цитата|citat|citaat|cytat|alıntı|引用|引文)\s*[:：]|(?:originally )?(?:posted|written) by\b|"
    r"ursprünglich geschrieben von|zitat von|envoyé par|escrito originalmente|сообщение от|"
    r".{1,40} (?:wrote|said|schrieb|a écrit|escribió|ha scritto|писал\(?а?\)?|написал\(?а?\)?|写道|寫道|说|說)\s*[:：])",
    re.I,
)
FOOTER = re.compile(
    r"^\W*(?:powered by|copyright|©|\(c\)|all times are|alle zeitangaben|processed in|page (?:was )?(?:generated|created|rendered|loaded)|"
    r"seite (?:wurde )?(?:generiert|erstellt)|страница (?:создана|сгенерирована)|页面(?:执行|生成)|(?:the )?current time|当前时间)",
    re.I,
)
SAID = re.compile(
    r"(?:wrote|writes|said|says|posted|quote|originally posted|schrieb|hat geschrieben|zitat|a écrit|a dit|citation|escribió|dijo|cita|"
    r"ha scritto|escreveu|писал(?:\(?а\)?)?|написал(?:\(?а\)?)?|сказал|цитата|napisał|schreef|skrev|写道|发表于|發表於|说|さん)"
    r"[^\n]{0,60}$",
    re.I,
)
PROFILE = re.compile(
    r"^(?:(?:location|from|posts?|messages?|beitr[aä]ge|wohnort|ort|herkunft|сообщений|откуда|mensajes|msgs?|帖子|发帖|积分|级别|威望)"
    r"\s*[:：]|from [A-Z])",
    re.I,
)


@lru_cache(maxsize=16_384)
def is_profile_line(text: str) -> bool:
    """Tells whether a text is a short line that describes a member, such as date of joining, number of posts, or location."""
    return len(text) <= 60 and bool(JOINED.match(text) or PROFILE.match(text))
