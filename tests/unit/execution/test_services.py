"""Services reach the tools that declare them (contract N050)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from toolcrib import Context, Crib, Injected
from toolcrib.settings import Settings


class Clock:
    """Something that tools share."""

    def now(self) -> str:
        return "noon"


async def test_N050_a_service_may_come_before_or_after_the_tool(tmp_path: Path) -> None:
    crib = Crib(Settings(home=tmp_path))

    @crib.tool
    def tell(zone: str, clock: Annotated[Clock, Injected(service="clock")]) -> str:
        """Tells the time."""
        return f"{clock.now()} in {zone}"

    early = await crib.run("tell", {"zone": "UTC"})
    assert (early.error_code, "clock" in str(early.error)) == ("dependency_missing", True)
    assert crib.status(crib.registry.resolve("tell")).lifecycle_reason == "waiting for clock"

    crib.services.register("clock", Clock())

    assert (await crib.run("tell", {"zone": "UTC"})).data == "noon in UTC"
    assert (await crib.run("tell", {"zone": "UTC"}, context=Context(user_id="ann"))).data == "noon in UTC"
    assert crib.status(crib.registry.resolve("tell")).lifecycle_reason is None


async def test_N050_a_caller_cannot_send_a_service(tmp_path: Path) -> None:
    crib = Crib(Settings(home=tmp_path))
    crib.services.register("clock", Clock())

    @crib.tool
    def tell(clock: Annotated[Clock, Injected(service="clock")]) -> str:
        """Tells the time."""
        return clock.now()

    assert "clock" not in crib.registry.resolve("tell").parameters.get("properties", {})
    assert (await crib.run("tell", {"clock": "forged"})).data == "noon"
