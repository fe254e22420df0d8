"""Generated form pages on known topics: each topic has its own words among words common to all."""

import numpy as np

from deepweb.forms.clustering import FormPageWords


def planted(
    topics: int, pages: int, random_seed: int, own: int = 30, shared: int = 200
) -> tuple[list[FormPageWords], np.ndarray]:
    """Returns random form pages and the true topic of each. Of a page's words, 40 % are drawn from
    the `own` words of its topic, the others from `shared` words of all topics."""
    rng = np.random.default_rng(random_seed)
    truth = rng.integers(0, topics, size=pages)
    found = []
    for topic in truth:
        words: dict[str, float] = {"home": 1.0}
        for _ in range(rng.integers(40, 90)):
            word = (
                f"t{topic}w{int(own * rng.random() ** 2)}"
                if rng.random() < 0.4
                else f"s{int(shared * rng.random() ** 2)}"
            )
            words[word] = words.get(word, 0.0) + float(rng.choice([1.0, 1.2, 2.0]))
        form = {
            (
                f"f{topic}w{rng.integers(0, 8)}"
                if rng.random() < 0.6
                else f"g{rng.integers(0, 20)}"
            ): 1.0
            for _ in range(rng.integers(3, 7))
        }
        found.append(FormPageWords(words, form))
    return found, truth
