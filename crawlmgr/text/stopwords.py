"""Stop words (words that say nothing about the topic of a text) of English and simplified Chinese:
this project's own lists, compiled from the closed word classes of both languages.

English: articles, pronouns, auxiliaries, prepositions, conjunctions, common adverbs. Chinese:
particles, pronouns, measure words, prepositions, conjunctions, adverbs, bare numerals. A last group
holds words of web navigation.
"""

from __future__ import annotations

_ENGLISH = """
a an the this that these those such same other others another each every either neither both all any
some no none few fewer less more most much many several own i me my mine myself we us our ours
ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself
they them their theirs themselves one ones someone somebody something somewhere anyone anybody
anything anywhere everyone everybody everything everywhere nobody nothing nowhere who whom whose
which what where when why how whoever whatever whichever wherever whenever however whether am is are
was were be been being do does did done doing have has had having can could may might must shall
should will would ought cannot get gets got getting let lets go goes going gone went come comes came
make makes made making take takes took taken taking say says said put puts seem seems seemed keep
keeps kept give gives gave given about above across after against along among amid around as at
before behind below beneath beside besides between beyond but by concerning despite down during
except for from in inside into like minus near of off on onto opposite out outside over past per
plus regarding since than through throughout till to toward towards under underneath until unto up
upon versus via with within without and or nor so yet if unless because although though while
whereas lest once then else thus hence therefore moreover furthermore nevertheless nonetheless
otherwise instead meanwhile also too very quite rather just only even still already ever never
always often sometimes usually again almost enough perhaps maybe indeed really now here there away
back well not yes etc eg ie am pm ll ve re don doesn didn isn aren wasn weren hasn haven hadn won
wouldn shouldn couldn mustn needn ain first second third last next two three four five six seven
eight nine ten
"""

_CHINESE = """
的 地 得 了 着 过 们 之 者 所 吗 呢 吧 啊 呀 哦 哇 嘛 啦 嗯 哎 唉 么 而已 罢了 似的 一样 一般 我 你 您 他 她 它 我们 你们 您们 他们 她们 它们 咱 咱们 自己
自身 本身 人家 别人 大家 彼此 某 某个 某些 某种 各 各个 各位 各种 每 每个 每次 其 其它 其他 其中 其余 这 那 哪 这个 那个 哪个 这些 那些 哪些 这里 那里 哪里 这儿 那儿
哪儿 这样 那样 怎样 这么 那么 怎么 怎么样 这种 那种 这次 那次 此 此外 此时 此处 该 本 什么 谁 何 如何 为何 为什么 多少 几 几个 是 不是 就是 还是 也是 有 没有 没 无
在 不在 做 作 为 成为 作为 称为 会 不会 能 不能 能够 可 可以 不可 可能 应 应该 应当 必须 需 需要 要 不要 想 愿意 敢 肯 让 使 使得 令 被 把 将 给 给予 叫 请 来
去 到 得到 起来 下来 上来 出来 进来 过来 下去 上去 出去 进去 过去 进行 具有 拥有 属于 位于 包括 包含 存在 等于 上 下 中 里 内 外 前 后 左 右 间 旁 上面 下面 里面
外面 前面 后面 之上 之下 之中 之内 之外 之前 之后 之间 以上 以下 以内 以外 以前 以后 以来 当中 其间 期间 从 自 自从 由 由于 于 向 往 朝 对 对于 关于 至 至于 以 用
以及 以便 以免 按 按照 依 依照 根据 据 通过 经过 经 随 随着 沿 沿着 除 除了 除非 比 比如 例如 譬如 诸如 如 如同 如此 同 与 和 跟 及 及其 并 并且 而 而且 或 或者
或是 但 但是 可是 不过 然而 却 只是 虽 虽然 尽管 即 即使 即便 哪怕 纵然 因 因为 因此 因而 所以 于是 从而 既 既然 只有 只要 不仅 不但 不只 不论 无论 不管 如果 假如
假若 倘若 要是 若 若是 则 否则 那么 然后 接着 最后 首先 其次 再次 另外 另 还有 同时 总之 综上 换言之 也就是说 与其 宁可 何况 况且 甚至 甚至于 以致 以至 为了 为着 不 也
都 就 才 又 再 还 更 更加 最 很 非常 十分 极 极其 太 越 越来越 比较 较 相当 稍 稍微 略 几乎 大约 大概 约 左右 仅 仅仅 只 只能 光 单 共 总共 一共 全 全部 都是 均
一律 一直 一向 一再 一起 一同 一并 一旦 一方面 另一方面 一定 必 必定 必然 未必 也许 或许 似乎 好像 仿佛 究竟 到底 毕竟 反正 其实 实际上 事实上 尤其 特别 特别是 尤其是 正
正在 正是 曾 曾经 已 已经 刚 刚刚 刚才 将要 即将 马上 立刻 立即 随即 渐渐 逐渐 逐步 常 常常 经常 往往 时常 有时 偶尔 从来 从未 永远 始终 仍 仍然 依然 照样 重新 再三
反复 互相 相互 各自 亲自 分别 是否 能否 可否 未 未曾 并不 并非 绝不 决不 不再 不必 不用 别 勿 莫 而是 之一 个 只 条 张 件 位 名 次 回 遍 种 些 点 块 片 段 份 年
月 日 号 时 分 秒 一 二 三 四 五 六 七 八 九 十 百 千 万 亿 零 两 半 第 第一 第二 第三 一个 一些 一下 一点 一种 一次 一条 一切 两个 三个 许多 很多 不少 多 少
多个 若干 部分 有些 有的 有关 相关 等 等等 等等等 之类 云云 左边 右边
"""

_PAGE = """
http https www com html htm php asp aspx jsp cgi href nbsp amp quot copyright reserved 首页 上一页 下一页 尾页
更多 点击 版权 版权所有
"""

ENGLISH: frozenset[str] = frozenset(_ENGLISH.split())
CHINESE: frozenset[str] = frozenset(_CHINESE.split())
STOP_WORDS: frozenset[str] = ENGLISH | CHINESE | frozenset(_PAGE.split())
"""All lists together. The words are as `tokens.normalise` returns them, not stemmed."""
