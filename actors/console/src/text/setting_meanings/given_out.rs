//! Settings of share links and boxes.

super::korean_meanings! {
    "share.roots": "공유할 수 있는 디렉터리를 이름별로 지정합니다. 예: { movies = \"/data/movies\" }. 그러면 링크에서 \"movies/new/a.mpg\"처럼 파일을 부릅니다. 없으면 아무것도 공유하지 않고 share.listen도 닫혀 있습니다. 항목을 제거하면 그 아래의 링크가 끝납니다. 아직 마운트되지 않은 디렉터리는 나타날 때 엽니다.";
    "share.default_ttl": "유효 기간을 정하지 않은 링크의 유효 기간입니다. 바꾸어도 기존 만료 시각은 그대로입니다.";
    "share.min_ttl": "링크의 최소 유효 기간입니다.";
    "share.max_ttl": "링크의 최대 유효 기간입니다. 없으면 한도가 없습니다.";
    "share.allow_never": "만료 시각이 없는 링크를 허용할지 정합니다.";
    "share.notice_before": "링크가 만료되기 이 시간 전에 알림을 보냅니다. 없으면 보내지 않습니다. 유효 기간이 더 짧은 링크는 알림을 보내지 않습니다.";
    "share.resume_within": "이미 센 다운로드를 다시 세지 않고 이어받을 수 있는 시간입니다. 링크마다 최근 주소 10,000개를 기억합니다.";
    "share.clock_confirm_after": "시계가 한 시간 넘게 앞으로 뛰면 이 시간 동안 유지되어야 인정합니다. 그때까지 링크는 새 시각에 따라 거부되지만 정리되지 않습니다. 시계를 바로잡으면 다시 작동합니다.";
    "share.max_shares": "최대 링크 수입니다. 없으면 한도가 없습니다. 남은 다운로드가 없는 링크도 이어받기가 끝날 때까지 셉니다. max_per_owner도 같습니다.";
    "share.at_limit": "max_shares에 도달했을 때의 동작입니다. \"refuse\"는 새 링크를 거부합니다. \"nearest-deadline\", \"least-recently-used\", \"least-used\"는 해당하는 링크를 끝냅니다. 사용 횟수는 노드를 시작한 뒤부터 셉니다. \"least-used\"에서 5회 미만은 5회로 계산하므로 새 링크가 먼저 끝나지 않습니다.";
    "share.max_per_owner": "소유자 한 명의 최대 링크 수입니다. 없으면 한도가 없습니다.";
    "share.reclaim_effort": "끝난 링크의 정리에 쓰는 프로세서의 몫이며 1에서 10까지입니다. 값과 관계없이 링크는 만료 시각에 거부됩니다.";
    "share.keep_ended": "끝난 링크가 만료되었다고 답하는 기간입니다. 그 뒤에는 없는 링크가 됩니다.";
    "share.keep_ended_most": "노드가 기억하는 끝난 링크의 최대 수입니다.";
    "share.webhook_retention": "응답하지 않는 웹훅의 이벤트를 보관하는 기간입니다. 더 오래된 이벤트는 버립니다.";
    "share.webhook_retention_count": "보관하는 이벤트의 최대 수입니다. 오래된 것부터 버립니다.";
    "share.removed_after": "파일이 이 시간 동안 없으면 링크가 끝납니다. 교체된 파일의 링크는 유지됩니다.";
    "share.sweep_interval": "모든 링크의 파일이 있는지 천천히 확인하는 간격입니다. 링크를 사용할 때에도 없는 파일을 알아냅니다.";
    "share.webhooks": "이름별 웹훅입니다. 링크가 곧 만료될 때와 끝났을 때 호출합니다. 예: { billing = { url = \"http://10.0.0.5:9000/shares\", secret_file = \"/etc/reelyard/billing\" } }. 요청은 secret 또는 secret_file의 비밀 값으로 서명합니다. kinds로 이벤트 종류를, timeout으로 응답 제한 시간을 정할 수 있습니다. 새 웹훅은 추가된 뒤의 이벤트만 받습니다.";
    "share.listen": "링크를 제공하는 주소입니다. 이 주소에서는 API를 사용할 수 없습니다.";
    "share.public_url": "방문자가 share.listen에 접속하는 URL이며 링크가 이것으로 시작합니다. 기본값은 share.listen이고 share.tls가 있으면 TLS를 씁니다. URL에 경로를 넣을 수 있으며, 그때는 프록시가 요청에서 그 경로를 제거해야 합니다.";
    "share.trusted_proxies": "share.listen 앞에 있는 프록시의 주소입니다. 노드는 이 프록시가 알린 접속자 주소를 믿습니다.";
    "share.cut_at_deadline": "진행 중인 다운로드를 만료 시각에 끊을지 정합니다. 끊지 않으면 끝까지 받습니다.";
    "share.drain_timeout": "노드를 종료할 때 진행 중인 다운로드가 계속될 수 있는 시간입니다. 새 다운로드는 시작되지 않습니다. 신호를 한 번 더 보내면 바로 끝납니다.";
    "share.connections": "최대 연결 수입니다.";
    "share.connections_per_address": "주소 하나의 최대 연결 수입니다.";
    "share.archives": "동시에 만드는 압축 파일의 최대 수입니다. 하나마다 스레드 하나와 메모리가 필요합니다.";
    "share.archives_per_address": "주소 하나가 동시에 만드는 압축 파일의 최대 수입니다.";
    "share.request_timeout": "요청 하나와 두 요청 사이의 제한 시간입니다.";
    "share.send_timeout": "접속자가 이 시간 동안 응답을 한 바이트도 받지 않으면 연결을 닫습니다.";
    "share.access_log": "다운로드 기록입니다. off, 이 노드가 보관하는 기간, 또는 JSON Lines를 쓸 파일의 경로를 지정합니다. 파일을 교체한 뒤에는 노드에서 다시 읽기를 하십시오. 노드가 보관하는 기록은 최대 256 MiB입니다.";
    "share.access_log_address": "기록하는 주소의 범위입니다. full은 전체, network는 IPv4의 24비트와 IPv6의 48비트입니다.";
    "share.unknown_link_burst": "주소 하나가 한 번에 요청할 수 있는 없는 링크의 수입니다. 넘으면 있는 링크도 기다려야 합니다. 그러지 않으면 응답으로 추측이 맞았는지 알 수 있습니다.";
    "share.unknown_link_interval": "이 시간이 지날 때마다 추측을 한 번 더 허용합니다.";
    "share.password_burst": "주소 하나가 링크 하나에 한 번에 시도할 수 있는 비밀번호의 수입니다.";
    "share.password_interval": "이 시간이 지날 때마다 비밀번호를 한 번 더 시도할 수 있습니다.";
    "share.tls.certificate": "PEM 형식의 인증서이며 중간 인증서가 뒤에 이어집니다. 링크에 TLS를 사용합니다. 다시 읽기를 하면 인증서와 키를 다시 읽고 새 연결부터 적용합니다.";
    "share.tls.key": "인증서의 개인 키입니다. PEM 형식이며 비밀번호가 없어야 합니다.";
    "box.pools": "이름별 박스 풀입니다. 예: { judges = { size = 8 } }. 필수 값은 size뿐입니다. first_id, slots, host, hooks, labels, ttl_default, ttl_max, max_hold, grace, queue_limit, quota, priority_ages, clean_attempts, clean_again_after, clean_again_at_most도 정할 수 있습니다. 노드는 리더가 될 때와 다시 읽을 때 이 풀을 만들고 변경하며, API로 변경한 내용을 덮어씁니다. 클러스터에서는 새 설정 버전마다 한 번만 그렇게 하고, 리더가 바뀔 때는 하지 않습니다. 여기에서 제거한 풀은 reelyard box pools remove를 실행할 때까지 남습니다.";
    "box.keep_ended": "점유가 어떻게 끝났는지 기억하는 기간입니다. 이 기간에는 늦은 점유자와 반복된 요청이 올바른 답을 받습니다.";
    "box.keep_ended_most": "노드가 기억하는 끝난 점유의 최대 수입니다.";
    "box.log_retention": "박스에서 실행한 훅과 그 출력, 격리한 사람을 기억하는 기간입니다.";
    "box.log_retention_count": "그 기록의 최대 줄 수입니다.";
}
