"""How each figure is computed: for the shell, the screen and the docs, by ``glossary``."""

from msgspec import Struct

_DRAWN = "labels follow the random order of each group; no answer is missing for a reason"


class FigureMethod(Struct, frozen=True):
    """How one figure is computed; ``names`` are other words for it."""

    figure: str
    estimates: str
    formula: str
    assumes: str
    source: str
    fails: str
    names: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        parts = ("estimates", "formula", "assumes", "source", "fails")
        return tuple(("fails when" if one == "fails" else one, getattr(self, one)) for one in parts)


def _read(text: str) -> FigureMethod:
    """Read a figure: its names on the first line, then each part behind its own name."""
    head, *lines = text.replace("\n    ", " ").replace("DRAWN", _DRAWN).split("\n")
    figure, *names = head.split("; ")
    estimates, formula, assumes, source, fails = (line.partition(": ")[2] for line in lines)
    return FigureMethod(figure, estimates, formula, assumes, source, fails, tuple(names))


_TEXT = """\
accuracy
estimates: the share of decided verdicts on which the panel decides as a person would
formula: sum over groups of N_h/N * k_h/m_h: N_h verdicts, m_h labels in order, k_h of them alike;
    mid-p interval in each group at m(N-1)/(N-m), joined by MOVER
assumes: DRAWN
source: Zou and Donner 2008; Imbens and Manski 2004 for bounds
fails when: a group has no label: then only bounds are shown; or people err, see people's errors

pass rate
estimates: the share of the decided verdicts that the panel passes
formula: passes / (passes + fails), counted over the whole run, so it has no interval
assumes: nothing: it is a count, and says nothing about who deserved to pass
source: a count
fails when: it is read as quality: a lenient panel passes more than deserves it, see should pass

should pass
estimates: the share of decided verdicts whose responses deserve to pass
formula: sum over groups of N_h/N times the share of labels that say pass, with the interval of
    accuracy; an outside trusted set gives the corrected rate with Lang and Reiczigel's
assumes: DRAWN
source: Zou and Donner 2008; Lang and Reiczigel 2014
fails when: a group has no label; for new items, if the run is not like them

corrected rate
estimates: the pass rate without the panel's own false passes and false fails
formula: (p + spec - 1) / (sens + spec - 1), cut to 0..1; Wald's ends of p are mapped alike
assumes: sensitivity and specificity are known and hold for this run
source: Rogan and Gladen 1978; the judge calibration document
fails when: sens + spec is at most 1 (p is returned) or under 1.5 (a weak judge); sens and spec are
    estimates, so the interval is too narrow: use should pass

false passes
estimates: of the verdicts that deserve to fail, the share that the panel passes: 1 - specificity
formula: fp/(fp + tn) with totals estimated by group; ends where MOVER's interval of (1-R)A - RB has
    0 as its end, A and B the totals of hits and misses
assumes: DRAWN
source: Zou and Donner 2008; Donner and Zou 2012
fails when: few labels say fail: the interval is then wide, and one decides little

false fails
estimates: of the verdicts that deserve to pass, the share that the panel fails: 1 - sensitivity
formula: fn/(fn + tp), computed as false passes are
assumes: DRAWN
source: Zou and Donner 2008; Donner and Zou 2012
fails when: few labels say pass; labels of escalated verdicts alone show far more of them

kappa
estimates: agreement of panel and labels beyond what their pass rates alone would give
formula: (po - pe) / (1 - pe), weighted by the draw; ends where MOVER's interval of
    po - pe - kappa (1 - pe), by group and decision, has 0 as its end
assumes: DRAWN
source: Cohen 1960; Donner and Zou 2012
fails when: nearly all deserve the same: kappa is then low however right the panel is; pe is 1:
    undefined

Brier
estimates: the mean squared distance of confidence from 1 (right) or 0 (wrong)
formula: sum w(c - o)^2 / sum w; as (1-c)^2 + e(2c-1), only the errors e need labels, and the
    interval joins mid-p intervals of that part by group
assumes: confidence is read as the chance of being right; DRAWN
source: Brier 1950; Zou and Donner 2008
fails when: used alone: it mixes being right with knowing it; always saying 0.5 gives 0.25

ECE; ECE by chance
estimates: how far confidence lies from accuracy, over ten equal bins
formula: sum over bins of w_b/W * |mean confidence - accuracy|; beside it ECE by chance: what a
    calibrated judge with these confidences shows on average, with its 95% point and p
assumes: bins are wide enough; rows are independent
source: the judge calibration document; chance by the Poisson-binomial law or simulation
fails when: labels are few: at 20 to 50 a calibrated judge often shows more than 0.10; there is no
    interval, as resampling misses the truth

gap
estimates: mean confidence minus accuracy: above 0 the panel is surer than it is right
formula: the mean confidence of the run, which is known, minus the ends of the accuracy of those
    verdicts; for new items the doubt about the mean is added by squares
assumes: DRAWN
source: Zou and Donner 2008
fails when: over- and underconfident verdicts cancel out: look at the diagram

AUROC
estimates: the chance that a right verdict has more confidence than a wrong one
formula: share of pairs (right, wrong) with the higher confidence on the right one, ties one half,
    weighted by the draw
assumes: one order of confidence holds for all groups
source: Hanley and McNeil 1982
fails when: all verdicts are right, or all wrong: undefined. It says nothing about whether 0.9 means
    0.9, and has no interval here

log-loss
estimates: minus the mean logarithm of the chance that confidence gave to what was true
formula: -mean of ln c if right and ln(1-c) if wrong, c kept 2^-52 away from 0 and 1; the limited
    rows are counted
assumes: confidence is read as the chance of being right
source: Good 1952
fails when: a single certain error decides it: it then tells where it was limited, not how good the
    judge is

Spiegelhalter
estimates: whether the Brier score is that of a calibrated judge
formula: z = sum w(y-c)(1-2c) / sqrt(sum w^2 (1-2c)^2 c(1-c)); p is two-sided
assumes: weights are fixed, rows independent, n large enough for the normal law
source: Spiegelhalter 1986
fails when: every confidence is 0, 0.5 or 1: undefined; errors at both ends may cancel

alpha; Krippendorff's alpha
estimates: agreement of the jurors over a run: 1 is complete, 0 is what chance gives
formula: 1 - observed/expected disagreement: squared distances of scores, or unequal votes;
    jackknife over verdicts on ln(1 - alpha), from ten verdicts on
assumes: verdicts are independent; every juror uses the same scale
source: Krippendorff, Content Analysis, ch. 12; Efron and Stein 1981
fails when: one verdict alone (any split gives 0), or no variation; jurors who err alike agree too

r_WG
estimates: how much closer the scores of one verdict are than scores given at random
formula: 1 - s^2/V0, s^2 the sample variance of the scores on 0..1, V0 = 1/12
assumes: random scores are uniform on the scale
source: James, Demaree and Wolf 1984
fails when: fewer than two scores: undefined; below 0 jurors differ more than at random. It does not
    say that they are right

agreement
estimates: how close the jurors of one verdict are
formula: what the report states, under its own measure; else r_WG of the scores, or 2P - 1 of the
    votes, P the share of pairs that vote alike
assumes: a band (0.8, 0.667) is a relabel of the value beside it and of no other
source: James, Demaree and Wolf 1984; the jury consensus document
fails when: reports state different measures: compare values of one measure only

Wilson; Wilson's interval
estimates: an interval of a share k/n that keeps its level where k is near 0 or n
formula: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), z = 1.96
assumes: n independent answers of one kind; weights enter by their effective number
source: Wilson 1927
fails when: labels depend on each other, such as several on one case; the draw uses mid-p instead,
    as Wilson's upper end misses in groups with few labels and few misses

MOVER
estimates: an interval of a sum of estimates, from the interval of each
formula: low = estimate - sqrt(sum (W_h (p_h - l_h))^2); the upper end likewise
assumes: the parts are independent, as the groups of the draw are
source: Zou and Donner 2008
fails when: a part has no label: bounds take its place (0 and 1, others at their ends)

confidence sequence; ask
estimates: the accuracy or pass rate of the run, in an interval that holds at every look (ask)
formula: bets against each possible total with capped stakes; a total stays while its wealth is
    under 2/alpha; the intersection of all looks
assumes: the next group is drawn, by chances from earlier labels; questions on one figure share bets
source: Shekhar and others 2023 (arXiv 2305.06884); Waudby-Smith and Ramdas 2024
fails when: labels are out of the drawn order: they do not count; it is up to 1.45 times as wide as
    an interval for one look

people's errors; people err; sensitivity band
estimates: how often a label is wrong, and what the accuracy may then be: a band, not an interval
formula: e = (1 - sqrt(1 - 2d))/2, d how often two blind labels differ; the band holds (a-e)/(1-2e),
    a - d and a + e, with their intervals joined by squares
assumes: two people err apart; each label is from before the others' could be seen
source: Rogan and Gladen 1978; Zou and Donner 2008
fails when: people share their errors: these do not show; d near 1/2

alternative annotator test
estimates: for which share of reviewers the panel may stand in
formula: on each item, whether panel or person is alike with at least as many others; paired t of
    the difference against 0.15, Benjamini and Yekutieli over reviewers; passed from 1/2 on
assumes: three reviewers or more, each with 30 items that two others labelled too
source: Calderon, Reichart and Dror 2025 (arXiv 2501.10970)
fails when: reviewers share a mistake: a panel that does not is then called worse

effective jurors; independent jurors
estimates: as how many independent jurors the panel counts
formula: n / (1 + (n-1) rho), rho the mean phi of two jurors' errors, weighted by the draw, at least
    0; bootstrap over contents within groups, 1,000 times
assumes: every pair errs together about as much as the others
source: Kish 1965; Efron 1979
fails when: jurors hardly err, so rho rests on few items; pairs that differ much have no one rho

juror weights
estimates: what each juror's score could count; suggested, never applied
formula: kappa with the labels, cut at 0, drawn to the panel's mean: (n kappa + 20 mean)/(n + 20);
    scaled to sum 1
assumes: the next items are like the labelled ones; each juror is always asked
source: the multi-judge decision record; empirical shrinkage
fails when: jurors copy each other: both then count in full; under 20 votes kappa is not shown

segments
estimates: the figures of a part of the run: a tag, test, dimension, subject, family or decision;
    of a reviewer: the whole run by that person's labels
formula: each part by its own verdicts and labels in every group of the draw, whose numbers are
    known; from 20 labels on
assumes: DRAWN
source: Holt and Smith 1979 (post-stratification)
fails when: many parts are looked at: each interval is for one alone, and the worst looks worse than
    it is

composite
estimates: the weighted sum of the shares that should pass, over the dimensions of one subject
formula: sum w_d p_d; distances a to the ends joined as sqrt(sum r_de w_d a_d w_e a_e): r is 0 in
    this run, for new items sqrt(s_d s_e), s the share of labels on common cases
assumes: the draw is followed; the weights sum to 1
source: Zou, Huang and Zhang 2009, with the largest correlation
fails when: a dimension has no verdict: there is no composite, and the others are never weighed anew

bias probes
estimates: whether scores go with the length of a response, or votes with the order of a pair
formula: rank correlation of score and length within what should pass and within what should fail,
    Fisher's z at the effective n; of votes that turn with the order, the share to the first
assumes: labels are right; length has no part in what deserves to pass
source: Spearman 1904; Bonett and Wright 2000
fails when: longer responses are better within a class: it is an association, not a proof

paired difference
estimates: how much more often one panel or juror is right than another, on the same items
formula: only items on which the two differ count: sum over groups of N_c/N (2p_c - 1), p_c the
    share where the first is right; mid-p in each group, joined by MOVER
assumes: DRAWN
source: Zou and Donner 2008; McNemar 1947
fails when: items on which they differ have no label: bounds; the best of many looks better than it
    is

volatility; swings
estimates: whether one dimension's mean panel score swings while the others hold
formula: the newest run against 3 or more earlier ones of the same jurors: m -+ t sqrt(phi s^2 (1/n
    + 1/M)), phi >= 1 their spread beyond chance, t at 5% over the dimensions; the others must lie
    within 99%
assumes: runs are alike but for chance; all subjects together
source: the prediction interval; McCullagh and Nelder 1989 for phi
fails when: cases or rules change between runs; in simulated calm runs it flags at most 5%

unanimity watch
estimates: whether jurors vote alike more often than in earlier runs of the same jurors
formula: the share of verdicts with two or more votes on which all are the same, with the expected
    range of volatility; it warns above it where under 20 labels show accuracy
assumes: the cases are about as hard from run to run
source: the jury trim rule document, on collusion
fails when: items became easier: votes then agree because they are right; labels tell

drift
estimates: whether a juror's scores moved against the other jurors
formula: Welch's t on offsets (its score less the others' mean) against earlier runs of the same
    jurors, else the first half; q by Benjamini and Hochberg; CUSUM with a 5% limit
assumes: verdicts are independent and alike in both windows
source: Welch 1947; Page 1954
fails when: all jurors move together: offsets then stay; see volatility
"""
FIGURES = tuple(map(_read, _TEXT.strip().split("\n\n")))
