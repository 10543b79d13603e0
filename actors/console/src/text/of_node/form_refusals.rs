//! Further sentences with which the node refuses what a form sends. The forms are those of `sentences`.

/// English and Korean.
pub const FORM_REFUSALS: &[(&str, &str)] = &[
    // Files and paths.
    ("\"{text}\" is no name of a file: {why}", "\"{text}\"은(는) 파일 이름이 아닙니다: {why}"),
    ("the name is empty", "이름이 비어 있습니다"),
    (
        "\".\" and \"..\" are directories, not file names",
        "\".\"과 \"..\"은 디렉터리이며 파일 이름이 아닙니다",
    ),
    (
        "the name contains a \"/\": it would leave its directory",
        "이름에 \"/\"가 있어 디렉터리를 벗어납니다",
    ),
    ("the name contains a NUL byte", "이름에 NUL 바이트가 있습니다"),
    ("the name is longer than 255 bytes", "이름이 255바이트보다 깁니다"),
    ("no link can lead to \"{path}\": {why}", "공유할 수 없는 경로: \"{path}\". {why}"),
    (
        "a symlink is absolute or leads out of the root: only relative symlinks inside the root are followed",
        "심볼릭 링크가 절대 경로이거나 루트 밖을 가리킵니다. 루트 안의 상대 심볼릭 링크만 따라갑니다",
    ),
    ("permission denied", "읽을 권한이 없습니다"),
    (
        "the directory of its root is not available: {why}",
        "루트의 디렉터리를 사용할 수 없음: {why}",
    ),
    ("it cannot be opened: {why}", "열 수 없음: {why}"),
    (
        "a share ends by {at} at the latest: give it an earlier deadline",
        "링크의 만료는 늦어도 {at}까지입니다. 더 이른 시각을 지정하십시오",
    ),
    // Hosts.
    (
        "it is in maintenance, and gets no probes: activate it first",
        "점검 중이어서 확인하지 않습니다. 먼저 운영으로 전환하십시오",
    ),
    (
        "the probe was not carried out: try again in a moment",
        "확인하지 못했습니다. 잠시 후 다시 시도하십시오",
    ),
    // Boxes.
    (
        "the name of a pool is 1 to 64 letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit",
        "풀의 이름은 영문자, 숫자, \".\", \"_\", \"-\"로 1자에서 64자까지이고 영문자나 숫자로 시작합니다",
    ),
    (
        "a reason is a text of 1 to 500 bytes without control characters",
        "사유는 제어 문자 없이 1바이트에서 500바이트까지입니다",
    ),
    (
        "pool {pool} is in use: its host, hooks and ids can change only while no box is leased, being cleaned or quarantined",
        "사용 중인 풀: {pool}. 호스트, 훅, 번호는 점유되거나 정리 중이거나 격리된 박스가 없을 때만 바꿀 수 있습니다",
    ),
    (
        "pool {pool} cannot have {ids} of the hooks \"{hooks}\" on {host}: pool {other} has them; choose other numbers, or remove pool {other} first",
        "풀 {pool}: {host}의 훅 \"{hooks}\"에서 {ids}은(는) 풀 {other}의 것입니다. 다른 번호를 쓰거나 먼저 풀 {other}을(를) 제거하십시오",
    ),
    ("boxes {first} to {last}", "박스 {first}–{last}"),
    ("box {n}", "박스 {n}"),
    // Users and tokens.
    (
        "{who} is the last administrator: first add another admin, either a user with a password or a token without an end",
        "마지막 관리자: {who}. 먼저 비밀번호가 있는 사용자나 만료 없는 토큰으로 다른 관리자를 추가하십시오",
    ),
    (
        "the name of a user has 1 to 64 characters of a-z, 0-9, \".\", \"_\" and \"-\", and begins with a letter or digit",
        "사용자 이름은 a-z, 0-9, \".\", \"_\", \"-\"로 1자에서 64자까지이고 영문자나 숫자로 시작합니다",
    ),
    (
        "the name of a token has 1 to 64 characters of a-z, 0-9, \".\", \"_\" and \"-\", and begins with a letter or digit. The token of a worker is named worker/IP:PORT",
        "토큰 이름은 a-z, 0-9, \".\", \"_\", \"-\"로 1자에서 64자까지이고 영문자나 숫자로 시작합니다. 워커의 토큰 이름은 worker/IP:PORT입니다",
    ),
    (
        "the token of a worker is named worker/IP:PORT, and no other token: the name {name} does not match",
        "worker/IP:PORT는 워커의 토큰만 쓰는 이름입니다. 맞지 않는 이름: {name}",
    ),
    (
        "a password has {least} to {most} characters: choose another one",
        "비밀번호는 {least}자에서 {most}자까지입니다. 다른 비밀번호를 쓰십시오",
    ),
    (
        "a token has at most {most} scopes, not {given}: give it a role, or use several tokens",
        "토큰의 범위는 최대 {most}개이며 {given}개는 지정할 수 없습니다. 역할을 주거나 토큰을 나누십시오",
    ),
    // The node and the cluster.
    ("the settings on record stay in force: {why}", "기록된 설정은 그대로입니다: {why}"),
    ("no settings are on record", "기록된 설정이 없습니다"),
    (
        "no settings of version {n} are on record. The newest is {newest}",
        "기록에 없는 설정 버전: {n}. 최신 버전: {newest}",
    ),
    (
        "the reason has {given} bytes, and at most {most} are allowed",
        "사유가 {given}바이트입니다. {most}바이트까지 쓸 수 있습니다",
    ),
    (
        "the node is stopping: reload it after its restart",
        "노드가 종료 중입니다. 다시 시작한 뒤 다시 읽으십시오",
    ),
    (
        "\"{text}\" is not the number of a node: choose the node that gets the vote",
        "\"{text}\"은(는) 노드 번호가 아닙니다. 투표권을 받을 노드를 선택하십시오",
    ),
    (
        "the form lacks the CSRF token of this session: its page is of an earlier session, or of another site",
        "양식에 이 세션의 CSRF 토큰이 없습니다. 이전 세션의 페이지이거나 다른 사이트의 페이지입니다",
    ),
    ("the form: {why}", "양식: {why}"),
    // Any field.
    ("\"{text}\" is no host: {why}", "\"{text}\"은(는) 호스트가 아닙니다: {why}"),
    (
        "\"{text}\" is not a host address: expected ip:port such as 10.0.0.7:8888",
        "\"{text}\"은(는) 호스트 주소가 아닙니다. 예: 10.0.0.7:8888",
    ),
    ("an address such as {host} is needed", "주소가 필요합니다. 예: {host}"),
    ("an export of the audit needs a reason", "감사 기록을 내보내려면 사유가 필요합니다"),
    (
        "{what} must be a text of 1 to {n} bytes without control characters",
        "{what}: 제어 문자 없이 1바이트에서 {n}바이트까지 쓰십시오",
    ),
    (
        "\"{text}\" is no whole number from {least} to {most}. Correct it, and send the form again",
        "\"{text}\"은(는) {least}에서 {most}까지의 정수가 아닙니다. 고친 뒤 다시 보내십시오",
    ),
    ("a number of boxes is needed, such as 8", "박스 수를 입력하십시오. 예: 8"),
    ("Downloads at most: {why}", "최대 다운로드: {why}"),
    ("Number of boxes: {why}", "박스 수: {why}"),
    ("ttl_default: {why}", "점유 기간: {why}"),
    ("ttl: {why}", "유효 기간: {why}"),
    ("password: {why}", "비밀번호: {why}"),
    ("owner: {why}", "소유자: {why}"),
    ("note: {why}", "메모: {why}"),
    ("reason: {why}", "사유: {why}"),
    ("name: {why}", "이름: {why}"),
    ("role: {why}", "역할: {why}"),
    ("rights: {why}", "권한: {why}"),
    ("scopes: {why}", "범위: {why}"),
    ("size: {why}", "박스 수: {why}"),
    ("addresses: {why}", "주소: {why}"),
    ("host: {why}", "호스트: {why}"),
    ("path: {why}", "경로: {why}"),
    ("since: {why}", "시작 시각: {why}"),
    ("until: {why}", "끝: {why}"),
    ("pick: {why}", "선택한 항목: {why}"),
];
