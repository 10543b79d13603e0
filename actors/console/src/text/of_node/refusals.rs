//! Further sentences with which the node refuses an action, and its warnings of the cluster. The forms are those of
//! `sentences`.

/// English and Korean.
pub const REFUSALS: &[(&str, &str)] = &[
    // Files and copies.
    ("{file}: task {n} already copies it", "{file}: 작업 {n}이(가) 이미 복사하는 중"),
    (
        "{file}: all wanted copies exist ({hosts}); an extra copy would be removed again, unless the file is pinned",
        "필요한 사본이 모두 있음: {file} ({hosts}). 파일을 고정하지 않으면 추가 사본은 다시 삭제됩니다",
    ),
    (
        "the configuration changed since the page showed what a reload would do. Nothing was done. Look at the changes, \
         and reload if you still want to.",
        "페이지를 표시한 뒤 설정이 바뀌었습니다. 아무 작업도 하지 않았습니다. 변경 내용을 확인한 다음 필요하면 다시 읽으십시오.",
    ),
    ("the yard has no destination", "클러스터에 저장 서버가 없음"),
    ("task {n} already copies {file}", "작업 {n}이(가) 이미 복사하는 중: {file}"),
    (
        "task {n} is {state}: only a failed or cancelled task can be retried",
        "작업 {n}: {state}. 실패하거나 취소된 작업만 다시 시도할 수 있습니다",
    ),
    (
        "task {n} is {from}: it has ended and cannot change",
        "작업 {n}: {from}. 이미 끝나 바꿀 수 없습니다",
    ),
    ("the task was not started: {why}", "작업을 시작하지 않음: {why}"),
    ("{host} is not configured as a destination of this yard", "저장 서버로 설정되지 않음: {host}"),
    ("{host} is not configured as a host for this role", "이 역할로 설정되지 않음: {host}"),
    ("{host} is not a destination of this yard", "이 클러스터의 저장 서버가 아님: {host}"),
    ("{host} is not a host of this yard", "이 클러스터의 호스트가 아님: {host}"),
    (
        "{host} is in the configuration: change it there and reload",
        "설정 파일에 있는 호스트: {host}. 설정 파일에서 바꾼 뒤 다시 읽으십시오",
    ),
    (
        "{host} is in the configuration: remove it there and reload",
        "설정 파일에 있는 호스트: {host}. 설정 파일에서 제거한 뒤 다시 읽으십시오",
    ),
    ("{host} is not the address of one host", "호스트 한 대의 주소가 아님: {host}"),
    ("{host} was not adopted: {why}", "인계하지 못함: {host}. {why}"),
    ("{host} cannot copy from itself", "자기 자신에게서 복사할 수 없음: {host}"),
    ("source {host} is at its limit of concurrent copies", "원본 서버 {host}: 동시 복사 한도 도달"),
    (
        "{host} is in mode {mode}: no new copies start from it or to it",
        "{host}: {mode}. 새 복사를 시작하지 않습니다",
    ),
    ("{file} is pinned: no copy of it is removed", "고정된 파일: {file}. 사본을 삭제하지 않습니다"),
    ("the copy of {file} on {host} is already being removed", "이미 삭제하는 중: {file}, {host}"),
    (
        "No file is named '{file}': it is in no ranking and no source directory, and no host holds it. Correct the name. The command \"reelyard files pin NAME --force\" pins a name that no file has yet; in the API it is force=true.",
        "없는 파일: {file}. 순위와 원본 디렉터리에 없고 보유한 호스트도 없습니다. 이름을 고치십시오. 아직 없는 이름은 명령 \"reelyard files pin NAME --force\"로 고정하고, API에서는 force=true를 씁니다.",
    ),
    ("it has no grade", "등급 없음"),
    ("no source directory has it", "원본 디렉터리에 없음"),
    ("a host already holds it", "이미 보유한 호스트가 있음"),
    (
        "hitcount.history lists it on a host whose files were not read yet",
        "파일 목록을 아직 읽지 않은 호스트가 hitcount.history에 있음",
    ),
    ("a task already copies it", "이미 복사하는 중"),
    ("it is in backoff after a failure", "실패 후 재시도 대기"),
    ("its master does not exist as a regular file", "원본이 일반 파일로 존재하지 않음"),
    ("its master is being checked", "원본을 확인하는 중"),
    ("it is larger than the free room of every destination", "모든 저장 서버의 여유 공간보다 큼"),
    ("no destination has room for it now", "지금 공간이 있는 저장 서버 없음"),
    (
        "only old hosts have room, and their protocol cannot carry its name",
        "공간이 있는 호스트는 이전 cfw뿐이며 이 이름을 전달할 수 없음",
    ),
    (
        "no free source can serve a destination that has room",
        "공간이 있는 저장 서버에 제공할 수 있는 원본 서버 없음",
    ),
    ("it is presumed lost after a long silence", "오래 응답이 없어 유실로 추정"),
    ("it is not up", "정상이 아님"),
    ("the program at its address is not known yet", "이 주소의 프로그램을 아직 확인하지 않음"),
    ("its inventory was never read", "파일 목록을 읽은 적 없음"),
    ("its disk usage is not known yet", "디스크 사용량을 아직 모름"),
    ("it is in backoff after failures", "실패 후 재시도 대기"),
    ("its circuit breaker is open: calls to it failed", "호출이 실패하여 차단됨"),
    (
        "it is on probation: one copy at a time, and one is under way",
        "시험 복귀 중이며 복사 한 건이 진행 중",
    ),
    ("its link is too busy with other traffic", "회선이 다른 트래픽으로 바쁨"),
    ("it holds the file", "파일을 보유함"),
    (
        "the file does not fit: copies that are under way need the remaining room",
        "진행 중인 복사에 남은 공간이 필요하여 파일이 들어가지 않음",
    ),
    ("the file does not fit", "파일이 들어가지 않음"),
    ("its old cfw protocol cannot carry the file name", "이전 cfw가 이 이름을 전달할 수 없음"),
    ("no free source can serve this destination", "이 저장 서버에 제공할 수 있는 원본 서버 없음"),
    ("it is at its limit of concurrent copies", "동시 복사 한도 도달"),
    // Links.
    ("a share lasts at least {time}", "링크의 유효 기간은 {time} 이상이어야 합니다"),
    ("a share lasts at most {time}", "링크의 유효 기간은 {time} 이하여야 합니다"),
    (
        "a share needs a deadline here, because share.allow_never is false",
        "만료 시각이 필요합니다 (share.allow_never = false)",
    ),
    ("the share does not exist", "링크가 없습니다"),
    ("the share has ended: {why}", "링크가 이미 끝났습니다: {why}"),
    ("the share allows no more downloads", "남은 다운로드가 없습니다"),
    (
        "the share changed at the same time: nothing was done, try again",
        "그사이 링크가 변경되었습니다. 아무 작업도 하지 않았으므로 다시 시도하십시오",
    ),
    ("the condition does not hold: the share ends {at}", "조건이 맞지 않습니다. 링크의 만료: {at}"),
    (
        "the limit of {n} shares is reached (share.max_shares)",
        "링크 한도 {n}개에 도달했습니다 (share.max_shares)",
    ),
    (
        "this owner has {n} shares, which is the limit (share.max_per_owner)",
        "이 소유자의 링크가 한도 {n}개에 도달했습니다 (share.max_per_owner)",
    ),
    (
        "no share root is named {root}; add it to [share.roots] and reload",
        "루트 없음: {root}. [share.roots]에 추가한 뒤 다시 읽으십시오",
    ),
    (
        "No share root is named '{root}'. Configured roots: {all}. Add it to [share.roots] and reload.",
        "루트 없음: {root}. 설정된 루트: {all}. [share.roots]에 추가한 뒤 다시 읽으십시오.",
    ),
    ("no share root has this name", "이 이름의 루트 없음"),
    ("the directory of its root does not exist: {why}", "루트의 디렉터리가 없음: {why}"),
    (
        "the path, or one above or below it, is being moved: try again in a moment",
        "이 경로나 그 위아래의 경로를 옮기는 중입니다. 잠시 후 다시 시도하십시오",
    ),
    (
        "the name of a root has 1 to 64 lowercase letters, digits, \"-\" and \"_\"",
        "루트의 이름은 소문자, 숫자, \"-\", \"_\"로 1자에서 64자까지입니다",
    ),
    (
        "no link can lead to \"{path}\": {why}. Write a root and a path below it, such as movies/new/a.mpg",
        "공유할 수 없는 경로: \"{path}\". {why}. 루트와 그 아래의 경로를 쓰십시오. 예: movies/new/a.mpg",
    ),
    (
        "the path begins or ends with \"/\", or has two of them in a row",
        "경로가 \"/\"로 시작하거나 끝나거나 \"/\"가 이어져 있습니다",
    ),
    ("the path has a component \".\" or \"..\"", "경로에 \".\" 또는 \"..\"이 있습니다"),
    ("the path contains a NUL byte", "경로에 NUL 바이트가 있습니다"),
    ("the path is longer than 4096 bytes", "경로가 4096바이트보다 깁니다"),
    (
        "ttl and expires_at cannot be used together: give one of them",
        "ttl과 expires_at 중 하나만 쓰십시오",
    ),
    (
        "\"{text}\" is not a lifetime: write 7d, 1h 30m or never",
        "\"{text}\"은(는) 유효 기간이 아닙니다. 예: 7d, 1h 30m, never",
    ),
    (
        "\"{text}\" is not a time: write 2026-12-31T18:00:00Z or 2026-12-31T18:00:00+09:00",
        "\"{text}\"은(는) 시각이 아닙니다. 예: 2026-12-31T18:00:00+09:00",
    ),
    (
        "{text} is not a duration of at most 10 years: write \"10s\" or \"1h 30m\"",
        "{text}: 10년 이하의 시간이 아닙니다. 예: \"10s\", \"1h 30m\"",
    ),
    (
        "downloads are not logged: set share.access_log, and reload",
        "다운로드를 기록하지 않습니다. share.access_log를 설정한 뒤 다시 읽으십시오",
    ),
    (
        "links that had ended before, by their time or by another person: {n}. Nothing was revoked. Load the page again for the links that work",
        "이미 만료되었거나 다른 사람이 회수한 링크: {n}개. 아무것도 회수하지 않았습니다. 페이지를 다시 열어 유효한 링크를 확인하십시오",
    ),
    // Boxes.
    ("a pool is named {pool} already", "같은 이름의 풀이 이미 있습니다: {pool}"),
    ("pool {pool} is being removed", "제거하는 중인 풀: {pool}"),
    ("the fencing token belongs to another lease", "펜스 토큰이 다른 점유의 것입니다"),
    ("the lease was never given to a holder", "점유자에게 준 적 없는 점유입니다"),
    (
        "box {number} of pool {pool} is already quarantined: unquarantine it to clean it and use it again",
        "이미 격리된 박스: {pool} {number}. 다시 사용하려면 격리를 해제하고 정리하십시오",
    ),
    (
        "box {number} of pool {pool} is not quarantined: nothing is to be done",
        "격리되지 않은 박스: {pool} {number}. 할 일이 없습니다",
    ),
    (
        "box {number} of pool {pool} is leased: revoke the lease first",
        "점유된 박스: {pool} {number}. 먼저 점유를 회수하십시오",
    ),
    (
        "nothing was done to box {number} of pool {pool}: {why}. The list of leases has those that can be revoked",
        "{pool} {number}: 아무 작업도 하지 않았습니다. {why}. 회수할 수 있는 점유는 점유 목록에 있습니다",
    ),
    ("the box of the lease is not ready yet", "점유의 박스가 아직 준비되지 않았습니다"),
    ("the box is not free", "비어 있지 않은 박스입니다"),
    (
        "every id of the pool is in use or in its rest time",
        "풀의 모든 번호가 사용 중이거나 휴식 중입니다",
    ),
    ("the id is already in use", "이미 사용 중인 번호입니다"),
    (
        "the state of the box changed at the same time: try again",
        "그사이 박스의 상태가 바뀌었습니다. 다시 시도하십시오",
    ),
    (
        "a pool has at most {n} boxes, and their numbers are below 2^32",
        "풀의 박스는 최대 {n}개이고 번호는 2^32보다 작아야 합니다",
    ),
    ("a pool without a host cannot have hooks", "워커가 없는 풀에는 훅을 지정할 수 없습니다"),
    (
        "ttl_default must be from 1 ms to ttl_max, and max_hold at least 1 ms",
        "ttl_default는 1 ms에서 ttl_max까지, max_hold는 1 ms 이상이어야 합니다",
    ),
    (
        "the pool has no host, so no hooks run for its boxes and no other pool can take them",
        "풀에 워커가 없어 훅을 실행하지 않으며 다른 풀이 박스를 가져갈 수 없습니다",
    ),
    (
        "the host of pool {pool} did not carry out the call: {why}",
        "풀 {pool}의 호스트가 호출을 수행하지 못함: {why}",
    ),
    ("the worker {host} cannot be reached: {why}", "워커 {host} 연결 불가: {why}"),
    (
        "the worker {host} expects another token: set the same token on the node and the worker",
        "워커 {host}: 토큰이 다릅니다. 노드와 워커에 같은 토큰을 설정하십시오",
    ),
    (
        "the worker {host} answered with status {status}: {why}",
        "워커 {host} 응답 코드 {status}: {why}",
    ),
    ("the worker {host} sent an unreadable answer: {why}", "워커 {host}: 읽을 수 없는 응답: {why}"),
    // Users, tokens and rights.
    ("a token needs a role or at least one scope", "토큰에는 역할이나 범위가 하나 이상 필요합니다"),
    (
        "\"{text}\" is no role: expected viewer, operator or admin",
        "\"{text}\"은(는) 역할이 아닙니다. viewer, operator, admin 중 하나를 쓰십시오",
    ),
    ("\"{text}\" is no role", "\"{text}\"은(는) 역할이 아닙니다"),
    (
        "\"{text}\" is no scope: expected one of {all}, or boxes:lease:POOL",
        "\"{text}\"은(는) 범위가 아닙니다. 가능한 값: {all}, boxes:lease:POOL",
    ),
    ("no user is named {name}", "사용자 없음: {name}"),
    ("no token is named {name}", "토큰 없음: {name}"),
    (
        "a user named {name} exists already: choose another name, or change that user",
        "같은 이름의 사용자가 이미 있습니다: {name}. 다른 이름을 쓰거나 그 사용자를 변경하십시오",
    ),
    (
        "a token named {name} exists already: rotate or revoke it, or choose another name",
        "같은 이름의 토큰이 이미 있습니다: {name}. 교체하거나 회수하거나 다른 이름을 쓰십시오",
    ),
    (
        "the name {name} is reserved: choose another one",
        "예약된 이름입니다: {name}. 다른 이름을 쓰십시오",
    ),
    (
        "the token would be expired: give an end in the future",
        "이미 만료된 토큰이 됩니다. 미래의 시각을 지정하십시오",
    ),
    (
        "there are {n} users, which is the limit: remove some",
        "사용자가 한도 {n}명에 도달했습니다. 일부를 제거하십시오",
    ),
    (
        "there are {n} tokens, which is the limit: revoke some",
        "토큰이 한도 {n}개에 도달했습니다. 일부를 회수하십시오",
    ),
    (
        "{who} cannot remove, disable or weaken itself: another administrator must do it",
        "{who}: 자기 자신을 제거하거나 중지하거나 권한을 낮출 수 없습니다. 다른 관리자가 해야 합니다",
    ),
    (
        "{who} cannot grant more than its own rights: this needs an administrator",
        "{who}: 자신의 권한보다 큰 권한을 줄 수 없습니다. 관리자가 필요합니다",
    ),
    (
        "the user {name} is disabled: an administrator can enable it",
        "사용이 중지된 사용자: {name}. 관리자가 재개할 수 있습니다",
    ),
    (
        "the user {name} has no password: an administrator can set one",
        "비밀번호가 없는 사용자: {name}. 관리자가 설정할 수 있습니다",
    ),
    (
        "this call needs {scope}, and {who} has {rights}: use a token with that scope, or ask an administrator",
        "필요한 권한 {scope}, {who}의 권한: {rights}. 그 권한이 있는 토큰을 쓰거나 관리자에게 요청하십시오",
    ),
    ("no session has such an id, or it has ended", "세션이 없거나 이미 끝났습니다"),
    (
        "the session is unknown or has ended: log in again",
        "세션이 없거나 끝났습니다. 다시 로그인하십시오",
    ),
    (
        "the session has ended for lack of use or because of its age: log in again",
        "오래 사용하지 않았거나 기간이 지나 세션이 끝났습니다. 다시 로그인하십시오",
    ),
    (
        "the token is unknown or expired: ask an administrator for another one",
        "토큰이 없거나 만료되었습니다. 관리자에게 새 토큰을 요청하십시오",
    ),
    (
        "the token is cut or mistyped: it has {n} characters. Copy it again",
        "토큰이 잘렸거나 잘못 입력되었습니다. 길이는 {n}자입니다. 다시 복사하십시오",
    ),
    (
        "too many failed attempts: try again in {time}",
        "실패한 시도가 너무 많습니다. {time} 뒤에 다시 시도하십시오",
    ),
    ("none was given", "입력하지 않았습니다"),
    // The node itself.
    ("the running configuration stays in use: {why}", "적용 값은 그대로입니다: {why}"),
    ("the configuration cannot be used: {why}", "설정을 사용할 수 없음: {why}"),
    (
        "the node is starting: it has not read its journal yet",
        "노드가 시작 중이며 저널을 아직 읽지 않았습니다",
    ),
    (
        "this node has not read its store yet: try again in a moment",
        "노드가 저장소를 아직 읽지 않았습니다. 잠시 후 다시 시도하십시오",
    ),
    ("the node is stopping", "노드가 종료 중입니다"),
    ("this node does not lead the yard; {who}", "이 노드는 리더가 아닙니다. {who}"),
    ("this node does not lead the yard", "이 노드는 리더가 아닙니다"),
    ("nothing was changed: {why}", "변경하지 않음: {why}"),
    ("busy, retry in {time}", "바쁩니다. {time} 뒤에 다시 시도하십시오"),
    (
        "another request used this request id: choose another one",
        "다른 요청이 이 요청 번호를 사용했습니다. 다른 번호를 쓰십시오",
    ),
    ("the connection to the leader failed: {why}", "리더와의 연결 실패: {why}"),
    ("the leader did not answer the request: {why}", "리더가 요청에 응답하지 않음: {why}"),
    (
        "{why}. The request may have been carried out: {next}",
        "{why}. 요청이 처리되었을 수 있습니다: {next}",
    ),
    ("the audit cannot be read: {why}", "감사 기록을 읽을 수 없음: {why}"),
    ("the access log cannot be read: {why}", "다운로드 기록을 읽을 수 없음: {why}"),
    (
        "the node has no address for other nodes: set cluster.listen in its configuration, and reload",
        "다른 노드를 위한 주소가 없습니다. cluster.listen을 설정한 뒤 다시 읽으십시오",
    ),
    ("no page has the path {path}", "페이지 없음: {path}"),
    // The cluster.
    ("node {n} does not take part: {why}", "노드 {n}: 참여하지 않음. {why}"),
    ("it has never answered", "응답한 적 없음"),
    ("it has been silent for {time}", "{time} 동안 소식 없음"),
    (
        "the settings of the cluster in the file of node {n} differ from those here: make both files equal, and reload",
        "노드 {n}의 파일에 있는 클러스터 설정이 이 노드와 다름. 두 파일을 같게 고친 뒤 다시 읽으십시오",
    ),
    (
        "the wall clock of node {n} is {time} ahead of the median of the voters, more than cluster.clock_bound. It does not lead until the clock is correct",
        "노드 {n}의 시계가 투표 노드의 중앙값보다 {time} 빠름 (cluster.clock_bound 초과). 시계를 바로잡을 때까지 리더가 되지 않습니다",
    ),
    (
        "the wall clock of node {n} is {time} behind the median of the voters, more than cluster.clock_bound. It does not lead until the clock is correct",
        "노드 {n}의 시계가 투표 노드의 중앙값보다 {time} 느림 (cluster.clock_bound 초과). 시계를 바로잡을 때까지 리더가 되지 않습니다",
    ),
    (
        "the certificate in cluster.tls.cert_file ends at {at}: make a new one with \"reelyard cluster certs renew\", and reload",
        "cluster.tls.cert_file의 인증서 만료: {at}. \"reelyard cluster certs renew\"로 새로 만든 뒤 다시 읽으십시오",
    ),
];
