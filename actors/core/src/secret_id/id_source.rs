//! The source of secret ids.

/// The system has no random numbers to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system provides no random numbers: {0}")]
pub struct NoRandomness(String);

/// The value of the character `-`.
pub(super) const HYPHEN: u128 = 62;

/// A source of random ids. It is passed to decisions, so that they draw nothing themselves.
#[derive(Debug)]
pub struct IdSource(Source);

#[derive(Debug)]
enum Source {
    System,
    Seeded(fastrand::Rng),
}

impl IdSource {
    /// Ids from the random numbers of the system: they cannot be guessed.
    pub fn system() -> Self {
        IdSource(Source::System)
    }

    /// The same ids in each run with the same seed. Such ids can be guessed: for simulations only.
    pub fn seeded(seed: u64) -> Self {
        IdSource(Source::Seeded(fastrand::Rng::with_seed(seed)))
    }

    /// The 128 bits of the next id. The text of an id never begins with a `-`: on a command line it would
    /// look like an option.
    pub fn draw(&mut self) -> Result<u128, NoRandomness> {
        loop {
            let id = self.bits()?;
            // The six bits of the first character.
            if id >> 122 != HYPHEN {
                return Ok(id);
            }
        }
    }

    /// 128 random bits for an id that is no secret.
    pub fn draw_public(&mut self) -> u128 {
        match &mut self.0 {
            Source::System => fastrand::u128(..),
            Source::Seeded(rng) => rng.u128(..),
        }
    }

    /// 32 random bytes for a secret that is no id.
    pub fn draw_secret(&mut self) -> Result<[u8; 32], NoRandomness> {
        let halves = [self.bits()?, self.bits()?].map(u128::to_be_bytes);
        let mut secret = [0; 32];
        secret.copy_from_slice(halves.as_flattened());
        Ok(secret)
    }

    fn bits(&mut self) -> Result<u128, NoRandomness> {
        match &mut self.0 {
            Source::System => {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
                Ok(u128::from_be_bytes(bytes))
            }
            Source::Seeded(rng) => Ok(rng.u128(..)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_series_of_ids() {
        let draw =
            |mut ids: IdSource| -> Vec<u128> { (0..9).map(|_| ids.draw().unwrap()).collect() };
        assert_eq!(draw(IdSource::seeded(1)), draw(IdSource::seeded(1)));
        assert_ne!(draw(IdSource::seeded(1)), draw(IdSource::seeded(2)));
        assert_ne!(draw(IdSource::system()), draw(IdSource::system()));
        let secret = |mut ids: IdSource| ids.draw_secret().unwrap();
        assert_eq!(secret(IdSource::seeded(1)), secret(IdSource::seeded(1)));
        assert_ne!(secret(IdSource::system()), secret(IdSource::system()));
    }
}
