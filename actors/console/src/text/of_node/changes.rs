//! Refusals of changes that the API offers and no page: moves of shared files, members and the lead of a cluster,
//! settings on record. The forms are those of `sentences`.

/// English and Korean.
pub const CHANGES: &[(&str, &str)] = &[
    // Moves of shared files.
    (
        "a root itself cannot be moved: expected a path below it",
        "루트 자체는 옮길 수 없습니다. 그 아래의 경로를 쓰십시오",
    ),
    (
        "no share root has this name; add it to [share.roots] and reload",
        "이 이름의 루트가 없습니다. [share.roots]에 추가한 뒤 다시 읽으십시오",
    ),
    ("the two paths are the same file", "두 경로가 같은 파일입니다"),
    ("a directory cannot be moved into itself", "디렉터리를 자기 안으로 옮길 수 없습니다"),
    (
        "the directory at the new path contains the old path",
        "새 경로의 디렉터리 안에 이전 경로가 있습니다",
    ),
    ("the file or directory does not exist", "파일이나 디렉터리가 없습니다"),
    ("its parent directory does not exist", "상위 디렉터리가 없습니다"),
    (
        "the new path already exists; set overwrite to replace it",
        "새 경로가 이미 있습니다. 덮어쓰려면 overwrite를 설정하십시오",
    ),
    ("the directory at the new path is not empty", "새 경로의 디렉터리가 비어 있지 않습니다"),
    (
        "one of the two is a file and the other a directory",
        "하나는 파일이고 다른 하나는 디렉터리입니다",
    ),
    ("it is neither a file nor a directory", "파일도 디렉터리도 아닙니다"),
    (
        "the path contains a symbolic link: give the path without one",
        "경로에 심볼릭 링크가 있습니다. 심볼릭 링크가 없는 경로를 쓰십시오",
    ),
    (
        "the two paths are on different file systems: copy the file, and share the copy",
        "두 경로가 서로 다른 파일 시스템에 있습니다. 파일을 복사한 뒤 그 파일을 공유하십시오",
    ),
    (
        "the operating system refused the move (permission denied or a read-only file system)",
        "운영 체제가 이동을 거부했습니다 (접근 권한 없음 또는 읽기 전용 파일 시스템)",
    ),
    (
        "the new path is longer than the file system allows",
        "새 경로가 파일 시스템의 한도보다 깁니다",
    ),
    (
        "too many moves are under way: try again in a moment",
        "진행 중인 이동이 너무 많습니다. 잠시 후 다시 시도하십시오",
    ),
    (
        "the node stopped before the move: try again",
        "이동하기 전에 노드가 종료되었습니다. 다시 시도하십시오",
    ),
    ("it cannot be moved: {why}", "옮길 수 없음: {why}"),
    (
        "this file system cannot rename without possibly overwriting a file: set overwrite if no other program writes to the new path",
        "이 파일 시스템은 덮어쓸 위험 없이 이름을 바꿀 수 없습니다. 다른 프로그램이 새 경로에 쓰지 않으면 overwrite를 설정하십시오",
    ),
    (
        "a share root is at this path or below it, and its configured path would become wrong: change the configuration first",
        "이 경로나 그 아래에 루트가 있어 설정된 경로가 맞지 않게 됩니다. 먼저 설정을 바꾸십시오",
    ),
    (
        "the directory of a root is missing or was just replaced: check that it exists and is mounted, and try again in a moment",
        "루트의 디렉터리가 없거나 방금 교체되었습니다. 있는지, 마운트되었는지 확인한 뒤 다시 시도하십시오",
    ),
    (
        "to: expected the new path including the new name",
        "to: 새 이름까지 포함한 새 경로를 쓰십시오",
    ),
    // Members and the lead of a cluster.
    (
        "of the {n} nodes that would vote, {silent} do not answer, so no quorum would be left. Start them, or remove them first",
        "투표할 노드 {n}대 중 응답 없는 노드: {silent}. 과반수가 남지 않으므로 먼저 시작하거나 제거하십시오",
    ),
    ("node {n} does not answer yet: start it", "노드 {n}: 아직 응답이 없습니다. 먼저 시작하십시오"),
    ("this node does not lead the cluster", "이 노드는 리더가 아닙니다"),
    (
        "another change of the members is not finished: try again in a few seconds",
        "다른 구성원 변경이 끝나지 않았습니다. 몇 초 후 다시 시도하십시오",
    ),
    (
        "no quorum has confirmed the change within {time}, and it may still happen: look at `reelyard cluster status`",
        "{time} 안에 과반수가 변경을 확인하지 않았으며 아직 처리될 수 있습니다. `reelyard cluster status`를 확인하십시오",
    ),
    (
        "node {n} is no member of this cluster. See `reelyard cluster status`",
        "이 클러스터의 구성원이 아닌 노드: {n}. `reelyard cluster status`를 확인하십시오",
    ),
    (
        "node {n} is the only voter: a cluster without a voter cannot decide. Add another node first",
        "노드 {n}: 하나뿐인 투표 노드입니다. 투표 노드가 없으면 결정할 수 없으므로 먼저 다른 노드를 추가하십시오",
    ),
    (
        "a change of the members, or another transfer, is not finished: try again in a few seconds",
        "구성원 변경이나 다른 인계가 끝나지 않았습니다. 몇 초 후 다시 시도하십시오",
    ),
    (
        "node {n} is no voter of this cluster. See `reelyard cluster status`",
        "이 클러스터의 투표 노드가 아닌 노드: {n}. `reelyard cluster status`를 확인하십시오",
    ),
    (
        "node {n} does not answer this node, so this node goes on leading. See `reelyard cluster status`",
        "노드 {n}: 응답 없음. 이 노드가 계속 리더입니다. `reelyard cluster status`를 확인하십시오",
    ),
    (
        "no other voter answers this node. See `reelyard cluster status`",
        "응답하는 다른 투표 노드가 없습니다. `reelyard cluster status`를 확인하십시오",
    ),
    (
        "node {n} did not get everything within {time}, so this node goes on leading",
        "노드 {n}: {time} 안에 모든 항목을 받지 못함. 이 노드가 계속 리더입니다",
    ),
    (
        "node {n} did not take the lead: {why}. The voters elect a leader now",
        "노드 {n}: 리더가 되지 않음: {why}. 투표 노드가 지금 리더를 선출합니다",
    ),
    ("node {n} follows another leader", "노드 {n}: 다른 리더를 따름"),
    ("it gave no answer within {time}", "{time} 안에 응답 없음"),
    // Settings on record.
    (
        "the newest settings on record are version {n}, not version {seen}: look at their difference, and apply again",
        "기록된 최신 설정은 버전 {n}이며 버전 {seen}이(가) 아닙니다. 차이를 확인한 뒤 다시 적용하십시오",
    ),
    (
        "version {n} is not complete: apply the settings again",
        "버전 {n}: 불완전함. 설정을 다시 적용하십시오",
    ),
    (
        "another change of the settings is being recorded: apply again in a moment",
        "다른 설정 변경을 기록하는 중입니다. 잠시 후 다시 적용하십시오",
    ),
    (
        "this node runs alone, and its file decides: change the file, and run \"reelyard config reload\"",
        "이 노드는 단독으로 실행되며 파일의 설정을 씁니다. 파일을 바꾼 뒤 \"reelyard config reload\"를 실행하십시오",
    ),
    // Rights of a token.
    ("worker {host}", "워커 {host}"),
    // Calls of the API.
    (
        "{text} is not a cursor of this list: use `next` of the previous page",
        "이 목록의 커서가 아님: {text}. 이전 페이지의 `next`를 쓰십시오",
    ),
    ("expected a number of at least 1, not {value}", "1 이상의 수가 아님: {value}"),
    ("{text} is not the number of a task", "작업 번호가 아님: {text}"),
    (
        "a \"+\" in a query stands for a space: write it as %2B",
        "주소의 \"+\"는 공백을 뜻합니다. %2B로 쓰십시오",
    ),
    (
        "{path} does not exist; /api/v1/openapi.json lists all paths",
        "없는 경로: {path}. 모든 경로는 /api/v1/openapi.json에 있습니다",
    ),
    (
        "{path} accepts {methods}, not {method}",
        "{path}: 지원하는 메서드 {methods}. 받은 메서드: {method}",
    ),
    ("set ttl or expires_at, not both", "ttl과 expires_at 중 하나만 쓰십시오"),
    ("no token has such a name", "이 이름의 토큰이 없습니다"),
    ("no user has such a name", "이 이름의 사용자가 없습니다"),
    (
        "{n} downloads were already taken: the limit cannot be {most}",
        "이미 사용한 다운로드 {n}회. 한도를 {most}회로 할 수 없습니다",
    ),
];
