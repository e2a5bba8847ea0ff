from .cards import reference_cards as reference_cards
from .catalogue import SuiteWorld as SuiteWorld, suite_world as suite_world, suite_worlds as suite_worlds
from .score import score_matrix as score_matrix, summarise as summarise
