"""Vocabulary of the demonstration's forum: names, titles and sentence patterns."""

from __future__ import annotations

from typing import NamedTuple


class Talk(NamedTuple):
    """Patterns of titles and sentences with the placeholders {thing}, {part} and {place}, and the
    words to insert for these."""

    titles: tuple[str, ...]
    sentences: tuple[str, ...]
    things: tuple[str, ...]
    parts: tuple[str, ...]
    places: tuple[str, ...]


PEOPLE = {
    "en": (
        "amber_w,Basil,cornelia,dunlin,Edith"
        " K,ferrous,greyhound7,hollis,inkwell,Jonquil,kestrel,lumen,Marlow,nightjar,osier".split(
            ","
        )
    ),
    "zh": "晨星,青石巷,小满,北门吊桥,阿森,竹里馆,木棉,老周,柠檬水,山间客,南风,书签,一叶舟,二胡,白露".split(
        ","
    ),
}

EN_TITLES = (
    "What do you make of the new {thing}?",
    "{thing}: is it worth the trouble",
    "Looking for a {thing} near {place}",
    "A word about the {part} of my {thing}",
    "{place} this week",
    "Who else keeps a {thing} by the {place}?",
    "The {thing} I saw at the {place}",
    "Question about a {part}",
    "My {thing}, after a year",
    "Better {part}, older {thing}?",
    "Things to know before you buy a {thing}",
    "Does anybody remember the {thing} at the {place}?",
)
EN_SENTENCES = (
    "I had mine from the {place} and the {part} was loose from the first day.",
    "Nobody at the {place} could tell me where the {part} went.",
    "If the {thing} still moves, leave the {part} alone.",
    "My neighbour swears by a {thing} without any {part} at all.",
    "It took me two evenings, most of it spent on the {part}.",
    "The one near the {place} is better, and cheaper.",
    "Has anyone tried it without the {part}?",
    "Thank you, that was what I wanted to know.",
    "I would ask at the {place} first.",
    "The {part} is what fails, every time.",
    "There was a {thing} like that in our street when I was young.",
    "Photographs would help, above all of the {part}.",
    "You need patience with a {thing}, and a dry room.",
    "We went to the {place} on Sunday and it was shut.",
    "I disagree: the {part} matters more than the {thing}.",
    "Mine has done ten years without a new {part}.",
)
TALK_OF = {
    "news": Talk(
        EN_TITLES,
        EN_SENTENCES,
        (
            "bus line",
            "market hall",
            "footbridge",
            "town clock",
            "night ferry",
            "reading room",
            "swimming bath",
            "tram stop",
        ),
        ("timetable", "roof", "ticket gate", "east door", "signal", "railing", "waiting room"),
        ("harbour", "old mill", "north gate", "town hall", "park", "station square"),
    ),
    "repair": Talk(
        EN_TITLES,
        EN_SENTENCES,
        (
            "sewing machine",
            "record player",
            "bicycle hub",
            "film camera",
            "wall clock",
            "soldering iron",
            "lathe",
            "valve radio",
        ),
        (
            "belt",
            "spring",
            "shutter",
            "bearing",
            "power switch",
            "capacitor",
            "drive wheel",
            "dial",
        ),
        ("workshop", "flea market", "scrap yard", "hardware shop", "library of things"),
    ),
    "night": Talk(
        EN_TITLES,
        EN_SENTENCES,
        (
            "ghost story",
            "long novel",
            "radio play",
            "crime series",
            "poetry book",
            "diary",
            "sea tale",
            "translation",
        ),
        (
            "ending",
            "second chapter",
            "narrator",
            "preface",
            "last page",
            "cover",
            "letter in the middle",
        ),
        ("night train", "late café", "bookshop", "lighthouse", "attic", "library"),
    ),
    "trade": Talk(
        (
            "出一台{thing}，{part}有点旧",
            "求购{thing}，{place}附近面交",
            "{thing}的{part}坏了还能卖吗",
            "九成新{thing}转让",
            "收一个{part}，配{thing}用",
            "{place}面交的{thing}，大家看看值不值",
            "闲置{thing}，可以换书",
        ),
        (
            "{part}换过一次，其他都是原装的。",
            "{place}附近可以面交，周末也行。",
            "价格可以再商量，诚心要的来。",
            "请问{thing}还在吗？",
            "这个{part}单买不便宜。",
            "上周在{place}看到一台一样的。",
            "帮顶一下，东西不错。",
            "已经出了，谢谢大家。",
            "能不能发一张{part}的照片？",
            "用了两年，没有修过。",
            "我也想收一台{thing}。",
        ),
        ("显示器", "自行车", "机械键盘", "电饭锅", "相机", "台灯", "吉他", "折叠桌"),
        ("支架", "电源线", "键帽", "镜头盖", "坐垫", "开关", "包装盒"),
        ("南门", "图书馆", "地铁口", "操场", "菜市场", "江边"),
    ),
    "study": Talk(
        (
            "{thing}的{part}怎么复习？",
            "求一份{thing}笔记",
            "{place}还有空位吗",
            "{thing}作业第三题讨论",
            "有人一起学{thing}吗",
            "{thing}的{part}总是看不懂",
            "考完{thing}的感想",
        ),
        (
            "我觉得先把{part}弄清楚比较好。",
            "老师说{part}不会考。",
            "可以去{place}问一下助教。",
            "谢谢，终于明白了。",
            "这一步的推导我也没看懂。",
            "建议看第二遍再做题。",
            "{place}晚上人少，适合看书。",
            "我有一份{thing}的笔记，晚点发上来。",
            "换一个思路，从{part}开始想。",
            "明天下午一起讨论吧。",
            "感谢分享，收藏了。",
        ),
        (
            "线性代数",
            "概率论",
            "英语写作",
            "编译原理",
            "大学物理",
            "有机化学",
            "古代汉语",
            "统计学",
        ),
        ("第三章", "证明题", "例题", "公式", "实验报告", "期末范围", "阅读材料"),
        ("自习室", "图书馆三楼", "东教学楼", "答疑室", "咖啡馆"),
    ),
    "trips": Talk(
        (
            "周末去{place}，还差两个人",
            "{place}的{thing}怎么样",
            "记一次{place}的{thing}",
            "{place}一日路线",
            "带孩子去{place}合适吗",
            "求推荐适合{thing}的地方",
            "{thing}要带什么{part}",
        ),
        (
            "早上七点集合，记得带{part}。",
            "{place}上周下过雨，路有点滑。",
            "报名，加我一个。",
            "中午在{place}吃饭，很实惠。",
            "我们走了五个小时，不算累。",
            "{thing}的人不多，风景很好。",
            "有车的同学可以拼一下。",
            "{part}在山下可以租。",
            "下次一起去吧。",
            "照片晚上发，今天累坏了。",
        ),
        ("徒步", "骑行", "露营", "看日出", "钓鱼", "爬山", "划船"),
        ("雨衣", "帐篷", "水壶", "头灯", "登山杖", "干粮"),
        ("西山", "湿地公园", "老码头", "水库", "竹海", "古镇", "海边"),
    ),
}
