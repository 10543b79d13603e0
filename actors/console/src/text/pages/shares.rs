//! Texts of the page Shares.

use crate::text::{count_texts, texts};

texts! {
    SENTENCE_NEXT = "the next in {age}", "다음 만료까지 {age}";
    HOOKS_FINE = "Webhooks that answer: {n}.", "웹훅 {n}개 정상.";
    HOOK_FAILS = "Webhook {hook} fails", "웹훅 실패: {hook}";
    HOOKS_FAIL = "Webhooks that fail: {n} of {all}.", "웹훅 {all}개 중 {n}개 실패.";
    ENDS_NEXT = "Next ends", "만료 시간표";
    TIMELINE_LABEL = "Links by their end", "만료 시각별 공유 링크";
    ENDING = "ends here: {n}", "이 구간에 {n}개 만료";
    PEAK = "{at}: {n} at once", "{at}: {n}개 만료";
    AXIS_NOW = "now", "지금";
    AXIS_HOUR = "1 h", "1시간";
    AXIS_SIX_HOURS = "6 h", "6시간";
    AXIS_DAY = "24 h", "24시간";
    AXIS_WEEK = "7 d", "7일";
    AXIS_MONTH = "30 d", "30일";
    FIELD = "Part of the path or owner", "경로 또는 소유자의 일부";
    WORKING = "Working", "사용 가능";
    DUE_DAY = "Due in 24 h", "24시간 내 만료";
    ENDED = "Ended", "만료됨";
    OWNER = "Owner", "소유자";
    PATH = "Path", "경로";
    ENDS_IN = "Ends in", "만료까지";
    ENDS = "Ends", "만료 시각";
    ENDS_AT = "ends {at}", "만료 {at}";
    NEVER_ENDS = "without end", "만료 없음";
    DOWNLOADS = "Downloads", "다운로드";
    PASSWORD = "Password", "비밀번호";
    LINK = "Link", "링크";
    WITH_PASSWORD = "with a password", "비밀번호 있음";
    DIRECTORY = "directory", "디렉터리";
    OF_MOST = "{n} of {most}", "{most}회 중 {n}회";
    CAPTION = "Share links", "공유 링크 목록";
    COPY_LINK = "Copy the link of {path}", "링크 복사: {path}";
    EXTEND = "Extend…", "연장…";
    REVOKE = "Revoke…", "회수…";
    REVOKE_ONE = "Revoke {path}…", "회수: {path}";
    NEW = "New link", "새 링크";
    NEW_PATH = "File or directory", "파일 또는 디렉터리";
    NEW_UNTIL = "Works for", "유효 기간";
    NEW_OTHER = "Another time (optional)", "다른 기간 (선택)";
    NEW_TTL_HINT = "such as 12h or 90d; it replaces the choice above", "예: 12h, 90d. 입력하면 위의 선택을 대신합니다";
    NEW_PATH_HINT = "root and path, such as movies/new/a.mpg", "루트와 경로, 예: movies/new/a.mpg";
    FOUND_FILE = "It is there: {size}", "파일 있음: {size}";
    FOUND_DIRECTORY = "It is there: a directory", "디렉터리 있음";
    PRESET_DEFAULT = "Default: {ttl}", "기본값: {ttl}";
    PRESET_HOUR = "1 hour", "1시간";
    PRESET_DAY = "1 day", "1일";
    PRESET_WEEK = "7 days", "7일";
    PRESET_MONTH = "30 days", "30일";
    PREVIEW_NO_NAME = "Name of the file", "파일 이름";
    PREVIEW_MOST = "{n} downloads at most", "최대 다운로드 {n}회";
    PREVIEW_ENDS = "ends in {ttl}", "만료까지 {ttl}";
    STATUS = "{links}, the next to end first", "{links}, 곧 만료되는 것부터";
    TIMELINE_LINKS = "{links}, time runs faster to the right", "{links}, 오른쪽으로 갈수록 시간 간격이 넓어집니다";
    NEW_MOST = "Downloads at most", "최대 다운로드";
    NEW_PASSWORD = "Password (optional)", "비밀번호 (선택)";
    NEW_NOTE = "Note (optional)", "메모 (선택)";
    NOTE = "Note", "메모";
    NO_LIMIT = "no limit", "제한 없음";
    CREATE = "Create link", "링크 만들기";
    PREVIEW = "The page of the link", "링크 페이지 미리 보기";
    CREATED = "The link works until {at}", "링크는 {at}까지 유효합니다";
    EMPTY_FILTER = "No link has “{text}” in its path or owner", "경로 또는 소유자에 “{text}”가 들어간 링크 없음";
    EMPTY_STATE = "No link is in this state", "이 상태의 링크 없음";
    EMPTY_SETUP = "No share root is set up", "공유 루트가 설정되지 않음";
    EMPTY_SETUP_BODY = "A link gives out a file or directory below a share root. Name the roots in the configuration, then reload:", "공유 링크는 공유 루트 아래의 파일이나 디렉터리를 제공합니다. 설정에 루트를 지정한 다음 다시 읽으십시오.";
    HOW_TO_SHARE = "How to share", "공유하는 방법";
    EMPTY_ALL = "Nothing is shared", "공유한 것이 없음";
    EMPTY_ALL_BODY = "A link gives one file or directory to anybody who has its address, until it ends.", "링크는 만료될 때까지 주소를 아는 누구에게나 파일 또는 디렉터리 하나를 제공합니다.";
    ASK_REVOKE_TEXT = "They end now, and running downloads are cut.", "지금 만료되며 진행 중인 다운로드도 끊깁니다.";
    DOWNLOADED_BY = "Downloads of this link", "이 링크의 다운로드";
    NO_DOWNLOADS = "Nobody downloaded it yet", "아직 다운로드 없음";
}

count_texts! {
    LINKS_WORK = "{n} link works." | "{n} links work.", "사용 가능: 공유 링크 {n}개.";
    LINKS_DUE = "{n} ends in the next 24 hours" | "{n} end in the next 24 hours", "24시간 내 만료: {n}개";
    ASK_REVOKE = "Revoke {n} link?" | "Revoke {n} links?", "공유 링크 {n}개를 회수하시겠습니까?";
}
