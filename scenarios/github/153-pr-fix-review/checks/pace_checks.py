"""Tests of pace and breaks at the pull request's head; the name of a class says which."""

import datetime
import unittest

from trailkit import pace as module
from trailkit.track import Point, Track

NINE = datetime.datetime(2025, 6, 1, 9, 0)


def tour(*steps: tuple[int, int]) -> Track:
    """A walk to the north: seconds after nine, and metres from the start."""
    points = (Point(47 + north / 111_195, 11.0, 1800, NINE + datetime.timedelta(seconds=time)) for time, north in steps)
    return Track("tour", tuple(points))


def rest(begin: int, minutes: int, north: int) -> list[tuple[int, int]]:
    """A point a minute at one place."""
    return [(begin + 60 * minute, north) for minute in range(minutes + 1)]


def seconds(track: Track, **options: float) -> list[float]:
    return [(pause.end - pause.start).total_seconds() for pause in module.breaks(track, **options)]


class LeastTest(unittest.TestCase):
    def test_exactly_the_least(self) -> None:
        track = tour((0, 0), (600, 1000), (900, 1000), (1500, 2000))
        self.assertEqual(seconds(track), [300])
        self.assertEqual(seconds(tour((0, 0), (600, 1000), (899, 1000), (1500, 2000))), [])
        self.assertEqual(seconds(track, least=301), [])


class LunchTest(unittest.TestCase):
    def test_a_point_a_minute(self) -> None:
        lunch = tour((0, 0), *rest(600, 30, 1000), (3000, 2000))
        self.assertEqual(seconds(lunch), [1800])
        self.assertEqual(module.breaks(lunch)[0].start, NINE + datetime.timedelta(seconds=600))

    def test_moving_divides_breaks(self) -> None:
        track = tour((0, 0), *rest(600, 10, 1000), *rest(1800, 20, 2000), (3600, 3000))
        self.assertEqual(sorted(seconds(track)), [600, 1200])
        self.assertEqual(seconds(track, least=900), [1200])
        self.assertEqual(seconds(tour((0, 0), *rest(600, 4, 1000), *rest(1200, 4, 1500), (2000, 2500))), [])

    def test_a_tour_may_begin_and_end_with_a_break(self) -> None:
        self.assertEqual(sorted(seconds(tour(*rest(0, 6, 0), (960, 1000), *rest(1500, 7, 2000)))), [360, 420])
        self.assertEqual(seconds(tour(*rest(0, 8, 0))), [480])


class NoPaceTest(unittest.TestCase):
    def test_no_distance_is_no_pace(self) -> None:
        for track in (tour(*rest(0, 20, 0)), tour(), tour((0, 0))):
            self.assertIsNone(module.pace(track))
            self.assertRegex(module.summary(track), r"^tour: no pace, breaks: [01]$")

    def test_a_pace_is_printed_as_before(self) -> None:
        track = tour((0, 0), (600, 1000), (1200, 1000), (1800, 2000))
        self.assertAlmostEqual(module.pace(track), 10, places=2)
        self.assertEqual(module.summary(track), "tour: 10.0 min/km, breaks: 1")


class KeptTest(unittest.TestCase):
    def test_breaks_are_in_the_order_of_the_tour(self) -> None:
        for first, second in ((400, 800), (800, 400)):
            begin = 1200 + first
            track = tour((0, 0), (600, 1000), (600 + first, 1000), (begin, 2000), (begin + second, 2000))
            self.assertEqual(seconds(track), [first, second])

    def test_slow_is_below_three_tenths_of_a_metre_a_second(self) -> None:
        self.assertEqual(seconds(tour((0, 0), (600, 240))), [])
        self.assertEqual(seconds(tour((0, 0), (600, 120))), [600])


if __name__ == "__main__":
    unittest.main()
