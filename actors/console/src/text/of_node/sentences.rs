//! The table of sentences of the actors and workers. A value in braces may hold another sentence of the table. The
//! first form that fits is used, so longer forms stand above shorter ones.

/// English and Korean.
pub const SENTENCES: &[(&str, &str)] = &[
    // Ends of copies: the planner.
    ("{host} is down", "{host} 응답 없음"),
    ("{host} left the yard", "클러스터에서 제거됨: {host}"),
    ("it is being drained", "비우는 중"),
    ("it is in maintenance", "점검 중"),
    ("{host} is being drained", "비우는 중: {host}"),
    ("{host} is in maintenance", "점검 중: {host}"),
    ("{host} already holds the file", "이미 파일을 보유함: {host}"),
    ("cancelled by {who}", "취소한 사람: {who}"),
    (
        "{host} reported done but does not list {file}",
        "{host}: 완료로 보고했으나 목록에 없음: {file}",
    ),
    (
        "another program answers at {host} since {since}, and it did not resume the copy",
        "{host}: {since}부터 다른 프로그램이 응답하며 복사를 이어서 하지 않음",
    ),
    ("{host} never started the copy", "{host}: 복사를 시작하지 않음"),
    (
        "{host} reported done, but its file list could not be read",
        "{host}: 완료로 보고했으나 파일 목록을 읽을 수 없음",
    ),
    ("{host} showed no activity within the time limit", "{host}: 제한 시간 동안 진행 없음"),
    (
        "the hash was not compared: the source is an old cfw, which sends no hash",
        "해시를 비교하지 않음: 원본 서버가 해시를 보내지 않는 이전 cfw임",
    ),
    // Ends of copies: the worker.
    ("the copy was cancelled", "복사가 취소됨"),
    ("the master was changed while it was copied", "복사하는 동안 원본이 변경됨"),
    (
        "the source answered with status {status} for {what}: {why}",
        "원본 서버 응답 코드 {status}, 대상 {what}: {why}",
    ),
    (
        "the source answered with status {status} for {what}",
        "원본 서버 응답 코드 {status}, 대상 {what}",
    ),
    ("the master's hash", "원본의 해시"),
    ("the master", "원본"),
    (
        "this worker has no free file descriptor: raise LimitNOFILE",
        "워커의 파일 디스크립터 부족: LimitNOFILE 값을 높이십시오",
    ),
    ("no data arrived within the time limit", "제한 시간 동안 데이터가 도착하지 않음"),
    ("the connection was closed", "연결이 닫힘"),
    ("the destination's disk failed: {why}", "저장 서버의 디스크 오류: {why}"),
    ("the copy cannot be stored under its name: {why}", "이 이름으로 저장할 수 없음: {why}"),
    (
        "the source did not hash the master within the time limit",
        "원본 서버가 제한 시간 안에 원본의 해시를 계산하지 못함",
    ),
    (
        "the source cannot read the master after byte {byte} of {size}",
        "원본 서버가 원본을 읽지 못함: {size}바이트 중 {byte}바이트 이후",
    ),
    (
        "the source's answer about the master's hash cannot be read",
        "원본의 해시에 대한 원본 서버의 응답을 읽을 수 없음",
    ),
    (
        "the copy differs from the master: blake3 {here} here, {there} at the source",
        "사본이 원본과 다름: blake3 저장 서버 {here}, 원본 서버 {there}",
    ),
    ("the data port {port} was busy at every try", "데이터 포트 {port}: 시도할 때마다 사용 중"),
    ("the data port {port} cannot be reached: {why}", "데이터 포트 {port} 연결 불가: {why}"),
    ("the data port {port} did not answer: {why}", "데이터 포트 {port} 응답 없음: {why}"),
    (
        "the source closed the connection after {bytes} of {size} bytes: {why}",
        "원본 서버가 연결을 닫음, {size}바이트 중 {bytes}바이트 수신: {why}",
    ),
    (
        "its disk is {used} % full, over the limit of {limit} %",
        "디스크 사용률 {used}%, 한도 {limit}% 초과",
    ),
    (
        "the destination's disk has room for {room} bytes, not for {wanted}",
        "저장 서버의 여유 공간 {room}바이트, 필요한 공간 {wanted}바이트",
    ),
    (
        "the free space of the destination's disk cannot be read: {why}",
        "저장 서버의 여유 공간을 읽을 수 없음: {why}",
    ),
    ("the source {host} cannot be reached: {why}", "원본 서버 {host} 연결 불가: {why}"),
    ("the source {host} reports no data port", "원본 서버 {host}: 데이터 포트를 알리지 않음"),
    (
        "the external downloader reported success but left no file",
        "외부 다운로더가 성공을 보고했으나 파일이 없음",
    ),
    ("the external downloader {what}; {output}", "외부 다운로더: {what}; {output}"),
    (
        "the copy panicked; see the log of the worker",
        "워커 내부 오류로 복사가 중단됨. 워커의 로그를 확인하십시오",
    ),
    // Errors of the system.
    ("Connection refused (os error {n})", "연결 거부됨 (os error {n})"),
    ("Connection reset by peer (os error {n})", "상대가 연결을 끊음 (os error {n})"),
    ("Connection timed out (os error {n})", "연결 시간 초과 (os error {n})"),
    ("Broken pipe (os error {n})", "연결이 끊어짐 (os error {n})"),
    ("No route to host (os error {n})", "호스트로 가는 경로 없음 (os error {n})"),
    ("Network is unreachable (os error {n})", "네트워크에 도달할 수 없음 (os error {n})"),
    ("No space left on device (os error {n})", "디스크에 남은 공간 없음 (os error {n})"),
    ("Permission denied (os error {n})", "접근 권한 없음 (os error {n})"),
    ("No such file or directory (os error {n})", "파일 또는 디렉터리 없음 (os error {n})"),
    ("Input/output error (os error {n})", "입출력 오류 (os error {n})"),
    ("Read-only file system (os error {n})", "읽기 전용 파일 시스템 (os error {n})"),
    ("Is a directory (os error {n})", "디렉터리임 (os error {n})"),
    // Calls to hosts.
    ("cannot be reached: {why}", "연결 불가: {why}"),
    ("no answer within {time}", "{time} 안에 응답 없음"),
    ("answered with status {status}", "응답 코드 {status}"),
    ("sent an unreadable answer: {why}", "읽을 수 없는 응답: {why}"),
    ("too many calls to this host are waiting", "이 호스트를 기다리는 호출이 너무 많음"),
    ("not called: {why}", "호출하지 않음: {why}"),
    ("its answer was refused: {why}", "응답을 거부함: {why}"),
    ("Connection refused", "연결 거부됨"),
    // Copies that stay or go.
    ("stays: {why}", "유지: {why}"),
    ("to be removed: {why}", "삭제 예정: {why}"),
    ("being removed: {why}", "삭제 중: {why}"),
    ("{why}; the copy on {host} is kept", "{why}; {host} 사본 유지"),
    (
        "it has no master: a removed file could not be restored",
        "원본이 없어 삭제하면 복구할 수 없음",
    ),
    ("its master could not be checked", "원본을 확인할 수 없음"),
    ("its name begins with an ignored prefix", "이름이 제외 접두어로 시작함"),
    ("it is pinned", "고정되어 있음"),
    ("it is hot", "급상승 중"),
    ("it was copied there recently", "최근에 복사됨"),
    ("it is one of the wanted copies", "필요한 사본임"),
    ("no other copy is confirmed", "확인된 다른 사본 없음"),
    (
        "the host of the copy to keep did not confirm that it has the copy",
        "남길 사본을 호스트가 확인하지 않음",
    ),
    ("its host cannot be called now", "지금 호스트를 호출할 수 없음"),
    ("the outcome of an earlier removal is not known yet", "이전 삭제의 결과를 아직 알 수 없음"),
    ("other removals already free enough space", "다른 삭제로 이미 공간이 충분함"),
    ("a removal of it is under way", "삭제 진행 중"),
    (
        "it was hot when it was copied, and its grade may not show that yet",
        "복사할 때 급상승 중이었고 등급에 아직 반영되지 않았을 수 있음",
    ),
    ("the room is no longer needed", "공간이 더 이상 필요하지 않음"),
    (
        "other files that had to be removed with it stay, so its removal would not free enough room",
        "함께 삭제할 다른 파일이 남아 삭제해도 공간이 부족함",
    ),
    ("it was copied there too recently for an exchange", "교체하기에는 너무 최근에 복사됨"),
    ("{n} copies, {wanted} wanted", "사본 {n}개, 필요한 사본 {wanted}개"),
    (
        "its host is being drained; copies elsewhere: {n}",
        "호스트를 비우는 중; 다른 곳의 사본: {n}개",
    ),
    (
        "the disk of its host is over its limit ({used} of {limit} bytes), and it is the least wanted file there (grade.info: {rank})",
        "호스트의 디스크가 한도를 넘었고 ({limit}바이트 중 {used}바이트) 그곳에서 수요가 가장 적은 파일임 (grade.info: {rank})",
    ),
    (
        "it makes room for {file} ({rank}, {hits} rising hits) and has {own}",
        "공간 확보 대상: {file} ({rank}, 급상승 요청 {hits}). 이 파일: {own}",
    ),
    (
        "it is exchanged for {file} ({rate} expected requests a day), and {own} requests a day are expected for it",
        "교체 대상: {file} (예상 요청 하루 {rate}). 이 파일의 예상 요청: 하루 {own}",
    ),
    ("rank {n}", "순위 {n}"),
    ("no grade", "등급 없음"),
    (
        "room is made on {host}: {lacking} bytes are missing, {goes} bytes are removed",
        "{host}에 공간 확보 중: 부족 {lacking}바이트, 삭제 {goes}바이트",
    ),
    ("room was made for it on {host}", "공간을 확보한 호스트: {host}"),
    (
        "it is not hot enough: room is made for files with at least {n} hits",
        "급상승 정도가 부족함: 요청 {n}회 이상인 파일에만 공간을 확보함",
    ),
    (
        "it replaces copies on {host}: {files} ({goes} bytes). Expected requests a day: {gain} instead of {lost}",
        "{host}에서 교체: {files} ({goes}바이트). 예상 요청 하루 {lost} 대신 {gain}",
    ),
    (
        "it would replace copies on {host}: {files} ({goes} bytes). Expected requests a day: {gain} instead of {lost}",
        "{host}에서 교체할 수 있음: {files} ({goes}바이트). 예상 요청 하루 {lost} 대신 {gain}",
    ),
    (
        "an exchange on {host} needs {needed} expected requests a day, and it has {own}",
        "{host}에서 교체하려면 예상 요청이 하루 {needed} 필요하지만 이 파일은 {own}",
    ),
    (
        "an exchange needs {needed} expected requests a day, and it has {own}",
        "교체하려면 예상 요청이 하루 {needed} 필요하지만 이 파일은 {own}",
    ),
    ("no host can exchange copies for it now", "지금 사본을 교체할 수 있는 호스트 없음"),
    (
        "no round of removal has looked for room for it",
        "삭제 주기가 이 파일의 공간을 찾아본 적 없음",
    ),
    (
        "exchanges need {needed} of event log, and {known} are known",
        "교체하려면 이벤트 로그 {needed} 분량이 필요하지만 {known} 분량만 있음",
    ),
    (
        "the daily budget of exchanges is used: {goes} bytes would be removed, and {left} bytes are left",
        "하루 교체 한도를 다 씀: 삭제할 양 {goes}바이트, 남은 양 {left}바이트",
    ),
    (
        "the sizes of the files that may be removed for it are being read",
        "삭제할 수 있는 파일의 크기를 읽는 중",
    ),
    (
        "every host would have to remove more than is allowed for one file (at least {n} bytes are missing)",
        "모든 호스트에서 파일 하나에 허용된 것보다 많이 삭제해야 함 (부족 {n}바이트 이상)",
    ),
    ("no host can make room now", "지금 공간을 확보할 수 있는 호스트 없음"),
    ("not removed: it is still there", "삭제되지 않음: 파일이 그대로 있음"),
    ("not removed: {why}", "삭제하지 않음: {why}"),
    ("refused by its host: {why}", "호스트가 거부함: {why}"),
    // Why nothing is planned, and why the node is not ready.
    (
        "the inputs of the leader are missing, older or smaller than those on record",
        "리더의 입력 파일이 없거나, 기록된 것보다 오래되었거나 작음",
    ),
    ("the ranking was not read yet", "순위 정보를 아직 읽지 않음"),
    ("the source directories were not listed yet", "원본 디렉터리를 아직 확인하지 않음"),
    (
        "the files of {hosts} were not listed yet, and any file might be there",
        "파일 목록을 아직 확인하지 않은 호스트: {hosts}. 그곳에 어떤 파일이 있는지 알 수 없음",
    ),
    ("no destination is up, listed and able to take copies", "사본을 받을 수 있는 저장 서버 없음"),
    (
        "planning is off (task.mode = \"off\"); running copies continue",
        "계획이 꺼져 있음 (task.mode = \"off\"). 진행 중인 복사는 계속함",
    ),
    (
        "No destination is up, so no copies are possible. {why}",
        "응답하는 저장 서버가 없어 복사할 수 없습니다. {why}",
    ),
    (
        "None is configured: set hosts.destinations.",
        "설정된 저장 서버가 없습니다. hosts.destinations를 설정하십시오.",
    ),
    (
        "The only one is in maintenance: see reelyard hosts.",
        "하나뿐인 저장 서버가 점검 중입니다. reelyard hosts를 보십시오.",
    ),
    (
        "All {n} are in maintenance: see reelyard hosts.",
        "{n}대 모두 점검 중입니다. reelyard hosts를 보십시오.",
    ),
    ("{n} does not answer: see reelyard hosts.", "응답 없음 {n}대. reelyard hosts를 보십시오."),
    ("{n} do not answer: see reelyard hosts.", "응답 없음 {n}대. reelyard hosts를 보십시오."),
    (
        "{n} does not answer, {others} is in maintenance.",
        "응답 없음 {n}대, 점검 중 {others}대입니다.",
    ),
    (
        "{n} does not answer, {others} are in maintenance.",
        "응답 없음 {n}대, 점검 중 {others}대입니다.",
    ),
    (
        "{n} do not answer, {others} is in maintenance.",
        "응답 없음 {n}대, 점검 중 {others}대입니다.",
    ),
    (
        "{n} do not answer, {others} are in maintenance.",
        "응답 없음 {n}대, 점검 중 {others}대입니다.",
    ),
    ("the inputs have not been read yet", "입력 파일을 아직 읽지 않음"),
    ("the journal has stopped", "저널이 중지됨"),
    ("no node leads the yard", "리더 노드 없음"),
    (
        "no node leads the yard: start more of its voters",
        "리더 노드 없음. 투표 노드를 더 시작하십시오",
    ),
    (
        "node {n} was removed from the cluster: stop it. To take part again, it joins with an empty data_dir and a new invitation",
        "노드 {n}: 클러스터에서 제거됨. 종료하십시오. 다시 참여하려면 빈 data_dir와 새 초대로 참여합니다",
    ),
    (
        "node {n} leads the yard, and no quorum has answered it for {time}",
        "리더 노드 {n}: {time} 동안 과반수의 응답 없음",
    ),
    (
        "node {n} leads the yard, and no quorum has confirmed that yet",
        "리더 노드 {n}: 아직 과반수가 확인하지 않음",
    ),
    (
        "node {n} led the yard, and it has been silent for {time}",
        "리더였던 노드 {n}: {time} 동안 소식 없음",
    ),
    ("node {n} leads the yard, and it cannot be reached", "리더 노드 {n}: 연결할 수 없음"),
    (
        "the disk of {dir} is full, {free} are free: make room for at least {needed} there. Until then everything can be read, and people can sign in and out. Links and tokens can be revoked, and users disabled or removed. Nothing else can be changed",
        "디스크 가득 참: {dir}, 여유 {free}. {needed} 이상 확보하십시오. 그때까지 조회, 로그인과 로그아웃, 링크와 토큰 회수, 사용자 중지와 제거만 할 수 있습니다",
    ),
    (
        "There is no event log yet, so no file becomes hot: {path} does not exist.",
        "이벤트 로그가 아직 없어 급상승 파일을 알 수 없음: {path} 없음.",
    ),
    // Refusals of actions.
    ("Nothing was done. {why}", "아무 작업도 하지 않았습니다. {why}"),
    (
        "the mode of {host} is {mode} now, but the page showed {seen}: {who} changed it {age} ago. Look at the host, and act again if you still want to.",
        "{host}: 현재 {mode}, 페이지 표시 {seen}. {age} 전 변경한 사람: {who}. 호스트를 확인한 뒤 필요하면 다시 실행하십시오.",
    ),
    (
        "the mode of {host} is {mode} now, but the page showed {seen}. Look at the host, and act again if you still want to.",
        "{host}: 현재 {mode}, 페이지 표시 {seen}. 호스트를 확인한 뒤 필요하면 다시 실행하십시오.",
    ),
    ("someone", "누군가"),
    (
        "Other rows match the filter now, {n} in all. Look at the rows, and act again if you still want to.",
        "조건에 맞는 행이 그사이 바뀌었습니다. 현재 {n}개. 행을 확인한 뒤 필요하면 다시 실행하십시오.",
    ),
    (
        "no destination can take '{file}' now: {why}",
        "지금 사본을 받을 수 있는 저장 서버 없음: {file}. {why}",
    ),
    ("task {n} does not exist", "작업 {n} 없음"),
    ("a task in state {from} cannot change to {to}", "작업 상태 {from}에서는 {to} 불가"),
    ("task {n} has ended already: {state}", "작업 {n}: 이미 끝남 ({state})"),
    ("no pool is named {pool}", "풀 없음: {pool}"),
    ("pool {pool} has no box {n}", "풀 {pool}: 박스 {n} 없음"),
    ("the lease does not exist", "점유가 없습니다"),
    ("the lease was already released", "점유가 이미 반납되었습니다"),
    ("the lease has expired", "점유가 만료되었습니다"),
    ("the lease was revoked: {why}", "점유가 이미 회수되었습니다: {why}"),
    ("the lease was revoked", "점유가 이미 회수되었습니다"),
    (
        "outcome unknown: repeat the request under the same id {id}",
        "결과를 알 수 없습니다. 같은 번호 {id}(으)로 요청을 반복하십시오",
    ),
    ("outcome unknown: {why}", "결과를 알 수 없음: {why}. 다시 실행하기 전에 상태를 확인하십시오"),
    (
        "too many requests are waiting, retry in {time}",
        "대기 중인 요청이 너무 많습니다. {time} 뒤에 다시 시도하십시오",
    ),
    (
        "leadership changed during the request: nothing was done, try again",
        "요청 중에 리더가 바뀌었습니다. 아무 작업도 하지 않았으므로 다시 시도하십시오",
    ),
    (
        "this node does not lead the yard; the leader is node {n}",
        "이 노드는 리더가 아닙니다. 리더: 노드 {n}",
    ),
    (
        "typed: expected {n}, the number of links that end",
        "입력한 수가 다릅니다. 회수할 링크 수: {n}",
    ),
    (
        "typed: expected {n}, the number of hosts to remove",
        "입력한 수가 다릅니다. 제거할 호스트 수: {n}",
    ),
    // Inputs of a new leader.
    (
        "No copies are planned and none are removed: {why}. Put the right files in place, or let another node lead. \
         To plan by these files: {command}.",
        "복사를 계획하지 않고 사본을 삭제하지도 않습니다: {why}. 올바른 파일을 두거나 다른 노드를 리더로 바꾸십시오. 이 파일로 계획하려면: {command}.",
    ),
    (
        "{input} is missing here, and node {node} planned by {rows} rows",
        "이 노드에 {input}이(가) 없습니다. 노드 {node}은(는) {rows}행으로 계획했습니다",
    ),
    (
        "{input} is of {time} here, and node {node} planned by one of {recorded}",
        "이 노드의 {input}은(는) {time}에 쓴 것입니다. 노드 {node}은(는) {recorded}에 쓴 것으로 계획했습니다",
    ),
    (
        "{input} has {n} rows here, and node {node} planned by {recorded} rows",
        "이 노드의 {input}은(는) {n}행입니다. 노드 {node}은(는) {recorded}행으로 계획했습니다",
    ),
    ("the list of masters", "원본 목록"),
    // Directories of shares.
    (
        "Share root {root} cannot be used, and none of its shares end as removed: {why}",
        "공유 루트 {root}을(를) 쓸 수 없으며, 파일이 없어도 공유를 끝내지 않습니다. 이유: {why}",
    ),
    (
        "Share root {root} has no id, so no node notices another directory at its path. The file {file} in it cannot \
         be written: {why}",
        "공유 루트 {root}에 식별자가 없어 다른 디렉터리로 바뀌어도 알 수 없습니다. {file} 파일을 쓸 수 없음: {why}",
    ),
    (
        "it is not the directory on record: its file {file} has no id. Mount the right directory. To use this one: \
         {command}",
        "기록된 디렉터리가 아닙니다. {file} 파일에 식별자가 없습니다. 올바른 디렉터리를 마운트하십시오. 이 디렉터리를 쓰려면: {command}",
    ),
    (
        "it is not the directory on record: its file {file} has the id {id}. Mount the right directory. To use this \
         one: {command}",
        "기록된 디렉터리가 아닙니다. {file} 파일의 식별자가 {id}입니다. 올바른 디렉터리를 마운트하십시오. 이 디렉터리를 쓰려면: {command}",
    ),
    ("its file {file} cannot be read: {why}", "{file} 파일을 읽을 수 없음: {why}"),
    ("it is not there: {why}", "디렉터리가 없음: {why}"),
    ("it is empty", "비어 있음"),
    ("it is no longer the directory that was opened", "처음에 연 디렉터리가 아님"),
    ("it cannot be read: {why}", "읽을 수 없음: {why}"),
    ("ttl: a lifetime is needed, such as 7d", "유효 기간이 필요합니다. 예: 7d"),
    ("{n} d {hours} h", "{n}일 {hours}시간"),
    ("{n} s", "{n}초"),
    ("{n} min", "{n}분"),
    ("{n} h", "{n}시간"),
    ("{n} d", "{n}일"),
    ("done", "완료"),
    ("failed", "실패"),
    ("timeout", "시간 초과"),
    ("cancelled", "취소됨"),
    ("active", "운영"),
    ("draining", "비우는 중"),
    ("maintenance", "점검 중"),
];
