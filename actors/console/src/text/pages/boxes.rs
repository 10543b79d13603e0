//! Texts of the page Boxes.

use crate::text::texts;

texts! {
    SENTENCE_QUEUE = "{n} wait for a box, the longest for {age}.", "박스 대기 {n}, 최장 {age}.";
    SENTENCE_WAITING = "{n} wait for a box.", "박스 대기 {n}.";
    SENTENCE_QUARANTINE = "{n} in quarantine.", "격리 {n}.";
    SENTENCE_FINE = "Nobody waits, and no box is in quarantine.", "대기와 격리 없음.";
    POOL_REMARK = "{boxes} on {host} · term {ttl}", "{host}, {boxes} · 점유 기간 {ttl}";
    POOL_REMARK_PLAIN = "{boxes} · term {ttl}", "{boxes} · 점유 기간 {ttl}";
    RESIZE = "Resize…", "크기 변경…";
    NEW_POOL = "New pool…", "새 풀…";
    QUEUE_OF = "Queue of {pool}", "{pool} 대기열";
    QUEUE_REMARK = "{n} of at most {most}", "최대 {most} 중 {n}";
    PLACE = "Place", "순번";
    HOLDER = "Holder", "점유자";
    PRIORITY = "Priority", "우선순위";
    WAITS = "Waits", "대기 시간";
    COUNT = "Boxes", "박스 수";
    LEASES_OF = "Leases of {pool}", "{pool} 점유";
    LEASES_REMARK = "soonest to end first", "곧 끝나는 순";
    BOX = "Box", "박스";
    TOKEN = "Token", "펜스 토큰";
    ENDS_IN = "Ends in", "종료까지";
    HELD_FOR = "Held for", "점유 시간";
    REVOKE = "Revoke…", "회수…";
    REVOKE_ONE = "Revoke the lease of box {n}", "박스 {n} 점유 회수";
    QUARANTINE = "Quarantine", "격리";
    QUARANTINE_REMARK = "with the evidence", "근거 포함";
    BOX_N = "Box {n} of {pool}", "{pool} 박스 {n}";
    SINCE_BY = "since {since}, {cause}", "{since} 격리, {cause}";
    BY_USER = "by {user}", "{user} 요청";
    AFTER_FAILURES = "after {failures} of its cleaning", "정리 {failures} 후";
    CLEANING_FAILED = "because its cleaning failed", "정리 실패";
    BACK_IN_USE = "Back in use…", "다시 사용…";
    EVIDENCE = "Evidence of box {n}", "박스 {n} 근거";
    NO_QUEUE = "Nobody waits", "대기 없음";
    NO_LEASES = "No box is leased", "점유된 박스 없음";
    NO_QUARANTINE = "No box is in quarantine", "격리된 박스 없음";
    NO_SUCH_POOL = "There is no pool {pool}.", "없는 풀: {pool}.";
    NO_BOX_AT_ALL = "Pool {pool} has no boxes.", "박스가 없는 풀: {pool}.";
    NO_SUCH_BOX = "Pool {pool} has no box {n}. Its boxes are {first} to {last}.", "없는 박스: {pool} {n}. 풀의 박스 번호: {first}–{last}.";
    NO_POOLS = "There is no pool", "풀 없음";
    NO_POOLS_BODY = "A pool hands out numbered boxes to jobs, one at a time. Create one:", "풀은 번호가 있는 박스를 작업에 하나씩 내줍니다. 다음 명령으로 만드십시오:";
    POOLS_PAGES = "Pages of pools", "풀 페이지";
    BOXES_PAGES = "Pages of boxes of {pool}", "{pool} 박스 페이지";
    QUEUE_PAGES = "Pages of the queue", "대기열 페이지";
    LEASES_PAGES = "Pages of leases", "점유 페이지";
    QUARANTINE_PAGES = "Pages of the quarantine", "격리 페이지";
    BOX_TITLE = "Box {n}", "박스 {n}";
    BOX_SINCE = "In this state since", "이 상태의 시작";
    BOX_LEASE = "Lease", "점유 번호";
    BOX_FAILURES = "Failed cleanings", "실패한 정리";
    BOX_SLOT = "Slot", "슬롯";
    QUARANTINE_IT = "Quarantine…", "격리…";
}
