//! Texts of the pages Plan and Map.

use crate::text::texts;

texts! {
    SENTENCE = "The last round, {age} ago, took {took} ms. It planned {copies} and decided {removals}.", "마지막 배치 주기는 {age} 전이며 {took} ms 걸렸습니다. 계획: {copies}, {removals}.";
    SENTENCE_NONE = "No round was planned yet.", "아직 배치 주기가 없었습니다.";
    BLOCKED = "Nothing is planned", "배치 계획 중지";
    UNLISTED = "Hosts whose files were not listed: {hosts}", "파일 목록을 아직 읽지 않은 호스트: {hosts}";
    NEXT_ROUND = "The last round", "마지막 배치 주기";
    COPIES_PLANNED = "Copies planned", "계획한 복사";
    IN_LINE = "of {n} in line", "/ 대기 {n}";
    REMOVALS = "Removals", "삭제";
    REMOVALS_FROM = "{bytes} from {hosts}", "{hosts}에서 {bytes}";
    EXCHANGES = "Exchanges", "교체";
    EXCHANGES_REMARK = "room for hotter files", "더 급상승한 파일을 위한 공간";
    PASSED = "Passed over", "건너뜀";
    PASSED_HELD = "{n} are held already", "이미 배치됨 {n}";
    NEXT_IN_LINE = "Copies of this round", "이번 주기의 복사";
    LINE_REMARK = "{n} wait for a later round", "다음 주기 대기 {n}";
    NO_COPIES = "The round planned no copy", "이번 주기에 계획한 복사 없음";
    NO_REMOVALS = "Nothing is to be removed", "삭제할 것 없음";
    NO_EXCHANGES = "No exchange is needed", "필요한 교체 없음";
    KEEPS = "Copies that stay, and why", "유지하는 사본과 이유";
    KEEPS_REMARK = "looked at and not removed", "검토 후 삭제하지 않음";
    PASSED_TITLE = "Passed over, and why", "건너뛴 파일과 이유";
    PASSED_REMARK = "bars are logarithmic", "막대는 로그 눈금";
    BACKED_OFF = "Paused after failures", "실패 후 중지";
    NO_BACK_OFFS = "Nothing is paused", "중지된 것 없음";
    UNTIL = "until {at}", "{at}까지";
    MODE = "mode {mode}", "방식 {mode}";
    COMES = "comes", "추가";
    GOES = "goes", "삭제";
    KEEPER = "stays on {host}", "{host}에 유지";
    HOT_HITS = "hot, {n}", "급상승, {n}회";
    BY_RANK = "rank {n}", "{n}위";
    BY_PERSON = "asked by {user}", "요청자 {user}";
    CAPTION = "Copies of the round", "이번 주기의 복사";
    AS_SOURCE = "as source", "원본 서버로서";
    AS_DESTINATION = "as destination", "저장 서버로서";
    MAP_SENTENCE_HOT = "{host} answers {share} of the requests for these files.", "이 파일들에 대한 요청의 {share}: {host}.";
    MAP_SENTENCE_CURE = "{n} of the most wanted files are only there; a second copy of each would spread them.", "요청이 많은 파일 {n}개가 그곳에만 있습니다. 사본을 하나씩 더 두면 분산됩니다.";
    MAP_SENTENCE_EVEN = "The requests are spread evenly.", "요청이 고르게 분산되어 있습니다.";
    MAP_LABEL = "Requests of files by hosts", "파일별, 호스트별 요청";
    MAP_UNDER = "under {n}", "{n} 미만";
    MAP_COMING = "copy on its way", "복사 진행 중";
    MAP_FILES_HOSTS = "Top files × hosts", "상위 파일 × 호스트";
    MAP_HOSTS = "Hosts only", "호스트만";
    MAP_VIEW = "View", "보기";
    MAP_BY_HOST = "Hosts by requests", "호스트별 요청";
    MAP_EMPTY = "No requests were counted yet", "아직 집계된 요청 없음";
    MAP_EMPTY_BODY = "The node counts requests from the hit counts of the hosts. Set the input, then reload.", "노드는 호스트의 요청 수 입력으로 요청을 집계합니다. 입력을 설정한 다음 다시 읽으십시오.";
    MAP_PANEL = "Requests an hour", "시간당 요청";
    MAP_ESTIMATE = "The node measures requests of files. The map divides them evenly among the copies.", "노드는 파일별 요청을 집계합니다. 지도는 이를 사본 수로 고르게 나눕니다.";
    MAP_SUM = "Sum", "합계";
}
