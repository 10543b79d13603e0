//! Texts of the pages without the frame of the console: share links and the sign-in.

use super::{count_texts, texts};

texts! {
    LEFT_UNTIL = "left, until {at}", "남음, {at}까지";
    NEVER_ENDS = "This link has no end.", "이 링크에는 만료 시각이 없습니다.";
    DOWNLOADS_LEFT = "{left} of {most} downloads left", "다운로드 {most}회 중 {left}회 남음";
    RESUMABLE = "An interrupted download can be resumed.", "중단된 다운로드는 이어받을 수 있습니다.";
    HELD_FILE = "All downloads of this link are used, one of them by you. You can resume it in the list of downloads of your browser, or with a download manager. No new one can start.", "이 링크의 다운로드가 모두 사용되었고, 그중 하나는 이 기기에서 시작되었습니다. 브라우저의 다운로드 목록이나 다운로드 관리자에서 이어받을 수 있습니다. 새 다운로드는 시작할 수 없습니다.";
    HELD_ARCHIVE = "All downloads of this link are used.", "이 링크의 다운로드가 모두 사용되었습니다.";
    DOWNLOAD = "Download", "다운로드";
    DOWNLOAD_ALL = "Download all (.zip)", "모두 다운로드(.zip)";
    COPY_LINK = "Copy link", "링크 복사";
    ANOTHER_DEVICE = "Open on another device", "다른 기기에서 열기";
    QR_LABEL = "QR code of this link", "이 링크의 QR 코드";
    TERMINAL = "For a terminal", "터미널로 받기";
    EXACT_BYTES = "{size} ({bytes} bytes)", "{size} ({bytes}바이트)";
    VIDEO = "video", "동영상";
    AUDIO = "audio", "오디오";
    PICTURE = "picture", "이미지";
    DOCUMENT = "text", "텍스트";
    DIRECTORY = "Directory", "디렉터리";
    NAME_HEAD = "Name", "이름";
    SIZE_HEAD = "Size", "크기";
    MORE_THAN = "more than {entries}", "{entries} 초과";
    AND_MORE = "and {n} more", "외 {n}개";
    AND_MORE_THAN = "and more than {n} more", "외 {n}개 초과";
    NEEDS_PASSWORD = "Needs a password", "비밀번호 필요";
    ASKS_PASSWORD = "This link needs a password", "이 링크에는 비밀번호가 필요합니다";
    PASSWORD = "Password", "비밀번호";
    OPEN = "Open", "열기";
    WRONG_PASSWORD = "Wrong password. Try again.", "비밀번호가 올바르지 않습니다. 다시 입력하십시오.";
    TIMES_UTC = "Times are in UTC.", "시각은 UTC 기준입니다.";
    TIMES_LOCAL = "Times are in your zone ({zone}).", "시각은 사용자 시간대({zone}) 기준입니다.";
    MADE_BY_OWNER = "The owner of the file made this link.", "이 링크는 파일 소유자가 만들었습니다.";

    EXPIRED = "Expired", "만료됨";
    EXPIRED_AT = "This link ended on {at}", "이 링크는 {at}에 만료되었습니다";
    EXPIRED_TEXT = "It has expired. Ask the sender for a new link.", "기한이 지났습니다. 보낸 사람에게 새 링크를 요청하십시오.";
    USED = "All downloads used", "다운로드 모두 사용됨";
    USED_TITLE = "All downloads of this link are used", "이 링크의 다운로드가 모두 사용되었습니다";
    USED_TEXT = "Ask the sender for a new link.", "보낸 사람에게 새 링크를 요청하십시오.";
    HELD_TITLE = "All downloads of this link are used, one of them by you", "이 링크의 다운로드가 모두 사용되었습니다. 그중 하나는 이 기기에서 시작했습니다";
    HELD_TEXT = "Resume it in the list of downloads of your browser, or with a download manager. No new one can start.", "브라우저의 다운로드 목록이나 다운로드 관리자에서 이어받으십시오. 새 다운로드는 시작할 수 없습니다.";
    REPLACED = "File replaced", "파일 교체됨";
    REPLACED_TITLE = "The file was replaced after your download began", "다운로드를 시작한 뒤 파일이 교체되었습니다";
    REPLACED_TEXT = "Your download cannot be resumed, and all downloads of this link are used. Ask the sender for a new link.", "다운로드를 이어받을 수 없고 이 링크의 다운로드는 모두 사용되었습니다. 보낸 사람에게 새 링크를 요청하십시오.";
    REVOKED = "Revoked", "회수됨";
    REVOKED_TITLE = "This link was revoked", "이 링크는 회수되었습니다";
    REVOKED_TEXT = "The owner revoked it. Ask the sender for a new link.", "소유자가 링크를 회수했습니다. 보낸 사람에게 새 링크를 요청하십시오.";
    REMOVED = "File removed", "파일 삭제됨";
    REMOVED_TITLE = "The shared file or directory was removed", "공유된 파일이나 디렉터리가 삭제되었습니다";
    NOT_SHARED = "No longer shared", "공유 중지됨";
    NOT_SHARED_TITLE = "This path is no longer shared", "이 경로는 더 이상 공유되지 않습니다";
    EVICTED = "Ended", "종료됨";
    EVICTED_TITLE = "This link ended to make room for newer links", "새 링크를 위한 자리를 만들기 위해 이 링크가 종료되었습니다";
    ENDED_AT = "It ended on {at}.", "종료 시각: {at}.";
    NO_LINK = "No such link", "없는 링크";
    NO_LINK_TITLE = "There is no link here", "이 주소에는 링크가 없습니다";
    NO_LINK_TEXT = "Check that the address is complete: it has 22 characters after /s/.", "주소가 완전한지 확인하십시오. /s/ 다음은 22자입니다.";
    WAIT = "Wait", "대기";
    TOO_MANY = "Too many attempts", "시도 횟수가 너무 많습니다";
    TRY_AFTER = "Try again in {wait}.", "{wait} 후에 다시 시도하십시오.";
    TOO_MANY_ARCHIVES = "Too many archives are on their way to your address", "이 주소로 보내는 압축 파일이 너무 많습니다";
    TOO_MANY_ARCHIVES_TEXT = "Wait until one of your downloads has ended.", "진행 중인 다운로드 하나가 끝날 때까지 기다리십시오.";
    OTHER_KIND = "Wrong address", "잘못된 주소";
    IS_DIRECTORY_TITLE = "This link shares a directory, not a file", "이 링크는 파일이 아니라 디렉터리를 공유합니다";
    IS_DIRECTORY_TEXT = "Open the link without the end of its address, and download the archive there.", "주소의 끝부분을 지우고 링크를 연 다음 압축 파일을 받으십시오.";
    IS_FILE_TITLE = "This link shares a file, not a directory", "이 링크는 디렉터리가 아니라 파일을 공유합니다";
    IS_FILE_TEXT = "Open the link without the end of its address, and download the file there.", "주소의 끝부분을 지우고 링크를 연 다음 파일을 받으십시오.";
    NO_ARCHIVE = "No archive", "압축 불가";
    NO_ARCHIVE_TITLE = "This directory cannot be sent as an archive", "이 디렉터리를 압축 파일로 보낼 수 없습니다";
    NO_ARCHIVE_TEXT = "Send the sender the reason below, and try again when it is corrected.", "아래 이유를 보낸 사람에게 알리고, 바로잡은 뒤 다시 시도하십시오.";
    ABSENT = "Not available now", "지금 사용할 수 없음";
    ABSENT_TITLE = "The shared file or directory does not exist now", "공유된 파일이나 디렉터리가 지금 없습니다";
    ABSENT_TEXT = "The link is still valid. Try again later, or ask the sender.", "링크는 아직 유효합니다. 나중에 다시 시도하거나 보낸 사람에게 문의하십시오.";
    NOT_NOW_TITLE = "This link is not available now", "지금은 이 링크를 사용할 수 없습니다";
    NOT_NOW_TEXT = "Try again in a moment.", "잠시 후 다시 시도하십시오.";
    UNREADABLE = "Not readable", "읽을 수 없음";
    UNREADABLE_TITLE = "The shared file or directory cannot be read now", "공유된 파일이나 디렉터리를 지금 읽을 수 없습니다";
    BAD_REQUEST = "Bad request", "잘못된 요청";
    BAD_REQUEST_TITLE = "The request is not valid", "요청이 올바르지 않습니다";
    BAD_FORM_TEXT = "The form data is not valid. Open the link again.", "양식 데이터가 올바르지 않습니다. 링크를 다시 여십시오.";
    LONG_PASSWORD_TEXT = "The password is too long.", "비밀번호가 너무 깁니다.";

    SIGN_IN_TITLE = "Sign in", "로그인";
    SIGN_IN_YARD = "Yard {yard}", "클러스터 {yard}";
    USER = "User", "사용자";
    SIGN_IN = "Sign in", "로그인";
    WITHOUT_USER = "Without a user: run {command} where you have a token, and open its link.", "사용자가 없으면 토큰이 있는 곳에서 {command} 명령을 실행하고 그 링크를 여십시오.";
    ONE_SESSION = "This link begins one session in this browser.", "이 링크는 이 브라우저에서 세션 하나를 시작합니다.";
    WRONG_LOGIN = "The name or the password is wrong.", "이름 또는 비밀번호가 올바르지 않습니다.";
    USED_LOGIN_LINK = "The login link was used or has expired. Ask for another one.", "로그인 링크가 이미 사용되었거나 만료되었습니다. 새 링크를 요청하십시오.";
    TOO_MANY_LOGINS = "Too many attempts. Try again in {wait}.", "시도 횟수가 너무 많습니다. {wait} 후에 다시 시도하십시오.";
    SIGNED_OUT_HERE = "This browser is signed out. The node could not end its session.", "이 브라우저에서 로그아웃했습니다. 노드에서는 세션을 끝내지 못했습니다.";
    NOT_SIGNED_IN = "The sign-in failed.", "로그인하지 못했습니다.";
    SIGNED_IN_TITLE = "You are signed in", "로그인되어 있습니다";
    CONSOLE = "Console", "콘솔";
    COPIES_AND_FILES = "Copies and files", "사본과 파일";
    STATUS = "Status", "상태";
}

count_texts! {
    ENTRIES = "1 entry" | "{n} entries", "항목 {n}개";
}
