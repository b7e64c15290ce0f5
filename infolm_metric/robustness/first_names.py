"""Common English first names, those of men and those of women apart; none is in both lists."""

from __future__ import annotations

from infolm_metric.robustness.words import listed

MALE = listed(
    """
    James John Robert Michael William David Richard Joseph Thomas Charles Christopher Daniel
    Matthew Anthony Donald Steven Paul Andrew Joshua Kenneth Kevin Brian George Edward
    Ronald Timothy Jason Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin
    Scott Brandon Benjamin Samuel Gregory Frank Alexander Raymond Patrick Jack Dennis Jerry
    Aaron Adam Henry Nathan Douglas Peter Walter Harold Keith Roger Albert Carl Arthur Alan
    Ralph Bruce Philip Harry Simon Oliver Alfred
    """
)
FEMALE = listed(
    """
    Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy
    Betty Margaret Sandra Ashley Kimberly Emily Donna Michelle Carol Amanda Dorothy Melissa
    Deborah Stephanie Rebecca Sharon Laura Cynthia Kathleen Amy Angela Shirley Anna Brenda
    Pamela Emma Nicole Helen Samantha Katherine Christine Debra Rachel Carolyn Janet
    Catherine Maria Heather Diane Ruth Julie Olivia Joyce Victoria Kelly Christina Lauren
    Joan Evelyn Judith Megan Andrea Cheryl Hannah Jacqueline Martha Alice Agnes
    """
)
