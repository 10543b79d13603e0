//! The claims of pools on the boxes of a worker, and the highest token for which it served each box.
//! Durable: two pools that had the same boxes would destroy each other's work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookTarget, IdRange, PoolName};

use crate::kept_state::box_claim::BoxClaim;
use crate::kept_state::state_store::StateStore;
use crate::kept_state::state_store_error::StateStoreError;

/// A claim is written again only after this many tokens: a hook does not wait for the disk.
const TOKENS_A_WRITE: u64 = 1000;

/// Another pool has a requested box.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{ids} of the hooks \"{hooks}\" on this worker belong to pool {owner}{whose}, so pool \
        {pool} cannot use them. If pool {owner} is removed or its cluster is replaced, run \
        reelyard box pools adopt {pool}"
)]
pub struct BoxClaimConflict {
    ids: String,
    hooks: String,
    owner: PoolName,
    whose: String,
    pool: PoolName,
}

/// The claims of pools on a worker.
pub(in crate::box_host) struct BoxClaims {
    store: Arc<StateStore>,
    claims: Mutex<Vec<BoxClaim>>,
}

impl BoxClaims {
    /// Reads the claims in `store`.
    pub fn open(store: Arc<StateStore>) -> Result<Self, StateStoreError> {
        let claims = Mutex::new(store.box_claims()?);
        Ok(BoxClaims { store, claims })
    }

    fn claims(&self) -> MutexGuard<'_, Vec<BoxClaim>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A pool makes a request for these boxes, with this token. They belong to it from now on, unless
    /// another pool has one of them. Durable when this returns. Blocks on the disk if this changes the
    /// claims.
    pub fn claim(
        &self,
        place: &HookTarget,
        boxes: &[BoxNumber],
        token: Option<FenceToken>,
    ) -> Result<Result<(), BoxClaimConflict>, StateStoreError> {
        let mut claims = self.claims();
        let found = claims.iter().position(|claim| is_of(claim, place));
        let before = found.and_then(|found| claims.get(found));
        let wanted = wanted(before, place, boxes, token);
        if before == Some(&wanted) {
            return Ok(Ok(()));
        }
        let others = claims.iter().enumerate().filter(|(at, _)| Some(*at) != found);
        if let Some(refusal) = others.into_iter().find_map(|(_, other)| conflict(other, &wanted)) {
            return Ok(Err(refusal));
        }
        self.store.replace_box_claims(before.as_slice(), std::slice::from_ref(&wanted))?;
        match found.and_then(|found| claims.get_mut(found)) {
            Some(claim) => *claim = wanted,
            None => claims.push(wanted),
        }
        Ok(Ok(()))
    }

    /// An operator gives a pool all its boxes, also those of other pools. Durable when this returns. Answers
    /// which pools lost some.
    pub fn adopt(&self, place: &HookTarget) -> Result<Vec<PoolName>, StateStoreError> {
        let mut claims = self.claims();
        let mut mine = wanted(claims.iter().find(|claim| is_of(claim, place)), place, &[], None);
        let (own, others): (Vec<_>, Vec<_>) =
            claims.iter().cloned().partition(|claim| is_of(claim, place));
        let (losers, mut kept): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|claim| conflict(claim, &mine).is_some());
        // Holders of the pools that lost boxes may still write, so the tokens continue above theirs.
        mine.token = losers.iter().map(|claim| claim.token).fold(mine.token, FenceToken::max);
        let left = losers.iter().map(|claim| {
            let ids = without(&claim.ids, &mine.ids);
            BoxClaim { ids, ..claim.clone() }
        });
        let mut changed: Vec<_> = left.filter(|claim| !claim.ids.is_empty()).collect();
        changed.push(mine);
        let gone: Vec<_> = own.iter().chain(&losers).collect();
        self.store.replace_box_claims(&gone, &changed)?;
        kept.append(&mut changed);
        *claims = kept;
        Ok(losers.into_iter().map(|claim| claim.pool).collect())
    }

    /// The highest token that may have been served for a pool, if its node cannot know it.
    pub fn beyond(&self, place: &HookTarget, last: FenceToken) -> Option<FenceToken> {
        let claims = self.claims();
        let claim = claims.iter().find(|claim| is_of(claim, place))?;
        (last < claim.token).then(|| FenceToken(claim.token.0 + TOKENS_A_WRITE - 1))
    }
}

/// Whether a claim is that of the pool that asks.
fn is_of(claim: &BoxClaim, place: &HookTarget) -> bool {
    let same_cluster = match (claim.cluster, place.cluster) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    same_cluster && claim.pool == place.pool
}

/// The new claim.
fn wanted(
    before: Option<&BoxClaim>,
    place: &HookTarget,
    boxes: &[BoxNumber],
    token: Option<FenceToken>,
) -> BoxClaim {
    let hooks = place.hooks_name();
    // The hooks of a pool change only while none of its boxes is in use.
    let before = before.filter(|claim| claim.hooks == hooks);
    let mut ids = match (place.ids.is_empty(), before) {
        (false, _) => place.ids.clone(),
        (true, Some(claim)) => claim.ids.clone(),
        (true, None) => Vec::new(),
    };
    for number in boxes {
        if !ids.iter().any(|range| range.has(number.0)) {
            ids.push(IdRange { first: number.0, count: 1 });
        }
    }
    let known = before.map(|claim| claim.token).unwrap_or_default();
    let token = match token {
        Some(token) if known.0 == 0 || token.0 >= known.0 + TOKENS_A_WRITE => token.max(known),
        _ => known,
    };
    let cluster = place.cluster.or(before.and_then(|claim| claim.cluster));
    BoxClaim { cluster, pool: place.pool.clone(), hooks: hooks.to_owned(), ids: joined(ids), token }
}

/// Sorted ranges, with adjacent ranges joined.
fn joined(mut ids: Vec<IdRange>) -> Vec<IdRange> {
    ids.sort_unstable_by_key(|range| range.first);
    let mut joined: Vec<IdRange> = Vec::with_capacity(ids.len());
    for range in ids {
        match joined.last_mut() {
            Some(last) if u64::from(range.first) <= last.end() => {
                let end = last.end().max(range.end());
                last.count = u32::try_from(end - u64::from(last.first)).unwrap_or(u32::MAX);
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The part of `ids` without `taken`.
fn without(ids: &[IdRange], taken: &[IdRange]) -> Vec<IdRange> {
    let mut left = ids.to_vec();
    for taken in taken {
        left = left.iter().flat_map(|range| range.without(*taken)).collect();
    }
    left
}

fn conflict(other: &BoxClaim, wanted: &BoxClaim) -> Option<BoxClaimConflict> {
    if other.hooks != wanted.hooks {
        return None;
    }
    let pairs = other.ids.iter().flat_map(|one| wanted.ids.iter().map(move |two| (one, two)));
    let shared = pairs.into_iter().find_map(|(one, two)| one.shared(*two))?;
    let whose = match (other.cluster, wanted.cluster) {
        (one, two) if one == two => " of the same cluster".to_owned(),
        (Some(one), _) => format!(" of cluster {one}"),
        (None, _) => String::new(),
    };
    Some(BoxClaimConflict {
        ids: shared.to_string(),
        hooks: wanted.hooks.clone(),
        owner: other.pool.clone(),
        whose,
        pool: wanted.pool.clone(),
    })
}

#[cfg(test)]
mod tests {
    use reelyard_core::manager::YardId;
    use reelyard_protocol::boxes::HooksName;

    use super::*;
    use crate::box_host::samples::place;

    fn at(cluster: u128, pool: &str, first: u32, count: u32) -> HookTarget {
        HookTarget {
            cluster: Some(YardId(cluster)),
            hooks: HooksName::new("h").ok(),
            ids: vec![IdRange { first, count }],
            ..place(pool)
        }
    }

    fn owners(dir: &std::path::Path) -> BoxClaims {
        BoxClaims::open(Arc::new(StateStore::open(dir).unwrap())).unwrap()
    }

    fn claim(owners: &BoxClaims, place: &HookTarget, token: u64) -> Result<(), String> {
        let claimed = owners.claim(place, &[], Some(FenceToken(token))).unwrap();
        claimed.map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_box_belongs_to_one_pool_until_an_operator_hands_it_over() {
        let dir = tempfile::tempdir().unwrap();
        {
            let owners = owners(dir.path());
            claim(&owners, &at(1, "java", 40, 4), 7).unwrap();
            claim(&owners, &at(1, "cpp", 44, 4), 1).unwrap();
            // Smaller and larger again.
            claim(&owners, &at(1, "cpp", 46, 2), 2).unwrap();
            claim(&owners, &at(1, "cpp", 44, 4), 2).unwrap();
            let of_others = HookTarget { hooks: HooksName::new("other").ok(), ..at(2, "x", 40, 9) };
            claim(&owners, &of_others, 1).unwrap();
        }
        let owners = owners(dir.path());
        let error = claim(&owners, &at(1, "cpp", 43, 4), 3).unwrap_err();
        for word in ["box 43", "\"h\"", "pool java of the same cluster", "box pools adopt cpp"] {
            assert!(error.contains(word), "{word}: {error}");
        }
        let error = claim(&owners, &at(2, "java", 40, 4), 1).unwrap_err();
        assert!(error.contains("boxes 40 to 43") && error.contains("of cluster 0000"), "{error}");
        assert_eq!(owners.adopt(&at(2, "java", 42, 4)).unwrap().len(), 2);
        claim(&owners, &at(2, "java", 42, 4), 1).unwrap();
        claim(&owners, &at(1, "java", 40, 2), 8).unwrap();
        assert!(claim(&owners, &at(1, "java", 40, 4), 8).is_err());
        claim(&owners, &at(1, "cpp", 46, 2), 8).unwrap();
    }

    #[test]
    fn a_new_owner_gets_the_earlier_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (at(1, "p", 0, 4), at(2, "p", 0, 4));
        {
            let owners = owners(dir.path());
            for token in 1..=9 {
                claim(&owners, &old, token).unwrap();
            }
            assert_eq!(owners.beyond(&old, FenceToken(9)), None);
            claim(&owners, &old, 2500).unwrap();
            assert_eq!(owners.beyond(&old, FenceToken(2500)), None);
            assert_eq!(owners.beyond(&old, FenceToken(2499)), Some(FenceToken(3499)));
        }
        let owners = owners(dir.path());
        assert_eq!(owners.beyond(&old, FenceToken(3000)), None);
        owners.adopt(&new).unwrap();
        assert_eq!(owners.beyond(&new, FenceToken(0)), Some(FenceToken(3499)));
    }

    #[test]
    fn a_node_of_an_older_version_claims_each_requested_box() {
        let dir = tempfile::tempdir().unwrap();
        let owners = owners(dir.path());
        let old = |pool: &str| HookTarget { cluster: None, ids: Vec::new(), ..at(0, pool, 0, 0) };
        let one = |place: &HookTarget, number| {
            owners.claim(place, &[BoxNumber(number)], None).unwrap().is_ok()
        };
        assert!(one(&old("p"), 1) && one(&old("p"), 2) && one(&old("q"), 3));
        assert!(!one(&old("q"), 2));
        // Its node was updated.
        claim(&owners, &at(7, "p", 0, 3), 1).unwrap();
        assert!(claim(&owners, &at(8, "p", 0, 3), 1).is_err());
    }
}
