//! The room of an arena: dead reckoning for its players, their actions in order, and a referee that ticks fifty times a
//! second.

use evenkeel_core::{Malformed, PeerId, Reader, SessionTime, Wire};
use evenkeel_dr::RoomEntity;
use evenkeel_game::{Action, GameLogic, GameOutbox, GameRoom};

use super::duel::PullTimes;
use super::message::Trigger;
use super::referee::Referee;

/// The machine of an arena's room.
pub type ArenaRoom<C> = GameRoom<Referee, C>;

impl GameLogic for Referee {
    fn joined(&mut self, player: PeerId, _name: &str, outbox: &mut GameOutbox) {
        self.join(player);
        send_all(self, outbox);
    }

    fn left(&mut self, player: PeerId, outbox: &mut GameOutbox) {
        self.leave(player);
        send_all(self, outbox);
    }

    fn action(&mut self, action: &Action, outbox: &mut GameOutbox) -> Result<(), Malformed> {
        let mut reader = Reader::new(&action.bytes);
        let trigger: Trigger = reader.read()?;
        reader.finish()?;
        let Action { virtual_at, arrived, held, waited, .. } = *action;
        let times = PullTimes { virtual_at, unaided: arrived - held, served: arrived + waited };
        self.act(action.from, trigger, times);
        send_all(self, outbox);
        Ok(())
    }

    fn tick(&mut self, now: SessionTime, entities: &[RoomEntity], outbox: &mut GameOutbox) {
        self.update(entities, now);
        send_all(self, outbox);
    }

    fn tallies(&self, player: PeerId) -> Vec<(&'static str, u64)> {
        let score = self.score(player);
        let fouls = self.fouls(player);
        [("hits", score.hits), ("losses", score.losses), ("fouls", fouls)]
            .map(|(name, count)| (name, u64::from(count)))
            .to_vec()
    }
}

/// Sends what the referee has to say, so that everybody sees it at once.
fn send_all(referee: &mut Referee, outbox: &mut GameOutbox) {
    let mut bytes = Vec::new();
    while let Some((to, message)) = referee.poll_message() {
        bytes.clear();
        message.emit(&mut bytes);
        outbox.update(to, &bytes);
    }
}
