//! A real browser: Debian's Chromium without its windows, which starts with a third of the processor time. The tests
//! control it with its driver over the WebDriver protocol.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reelyard_protocol::http_client::without_tls;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The member of an answer that contains the id of an element, as the standard defines it.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// The program of the browser.
const BROWSER: &str = "/usr/bin/chromium-headless-shell";

/// Attempts to click on an element that the page replaces meanwhile.
const CLICKS: usize = 5;

/// Starts the driver. Driver and browser end with the input of the shell, so also when the test is killed.
const DRIVER: &str = "chromedriver --port=0 & exec >&-; read -r _; kill -KILL 0";

/// Attempts to start the driver.
const DRIVER_STARTS: u32 = 5;

/// The longest time that the browser may take for one call, and that a page may take to show an element.
const PATIENCE: Duration = Duration::from_secs(60);

/// The port in the line that the driver prints when it listens.
fn port_in(line: &str) -> Option<u16> {
    let (_, port) = line.split_once("started successfully on port ")?;
    port.trim_end_matches('.').parse().ok()
}

/// A browser. It is closed when it is dropped.
pub struct Browser {
    driver: Child,
    http: reqwest::Client,
    session: String,
    place: TempDir,
}

impl Browser {
    /// Starts a browser, with or without scripts.
    pub async fn start(runs_scripts: bool) -> Result<Self> {
        let place = tempfile::tempdir()?;
        let (driver, port) = Self::start_driver(place.path())?;
        let http = without_tls().no_proxy().timeout(PATIENCE).build()?;
        // From here on, dropping the value ends the driver.
        let mut browser = Browser { driver, http, session: String::new(), place };
        let driver = format!("http://127.0.0.1:{port}");
        let begun = browser.call(Method::POST, &format!("{driver}/session"), &wanted()).await?;
        let id = begun["sessionId"].as_str().context("no session")?;
        browser.session = format!("{driver}/session/{id}");
        let saved = json!({ "behavior": "allow", "downloadPath": browser.downloads() });
        browser.devtools("Browser.setDownloadBehavior", &saved).await?;
        if !runs_scripts {
            let blocked = json!({ "value": true });
            browser.devtools("Emulation.setScriptExecutionDisabled", &blocked).await?;
        }
        Ok(browser)
    }

    /// Starts the driver on a free port. The port that it picks for IPv4 may be in use for IPv6: then it ends, and
    /// another one picks another port.
    fn start_driver(home: &Path) -> Result<(Child, u16)> {
        let mut output = String::new();
        for _ in 0..DRIVER_STARTS {
            let mut driver = Command::new("sh")
                .args(["-c", DRIVER])
                .env("HOME", home)
                // Without a character set no file with other letters than ASCII is saved.
                .env("LANG", "C.UTF-8")
                .env("TMPDIR", home)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
                .context("cannot start sh, which starts chromedriver")?;
            let mut lines = BufReader::new(driver.stdout.take().context("no output")?).lines();
            while let Some(Ok(line)) = lines.next() {
                if let Some(port) = port_in(&line) {
                    // Reads the pipe to its end: the driver must never find it full or closed.
                    std::thread::spawn(move || lines.for_each(drop));
                    return Ok((driver, port));
                }
                output.push_str(&line);
                output.push('\n');
            }
            // This closes its input.
            driver.wait()?;
        }
        bail!(
            "chromedriver ended {DRIVER_STARTS} times before it listened. Is chromium-driver installed?\n{output}"
        )
    }

    /// The directory of downloaded files.
    pub fn downloads(&self) -> PathBuf {
        self.place.path().join("Downloads")
    }

    /// Opens a page and waits until it is loaded.
    pub async fn open(&self, url: &str) -> Result<()> {
        self.ask(Method::POST, "url", &json!({ "url": url })).await?;
        // The driver may answer before expressions are evaluated in the new document.
        let until = Instant::now() + PATIENCE;
        let is_there = "document.documentElement !== null && document.readyState !== 'loading'";
        while self.evaluate(is_there).await? != true {
            anyhow::ensure!(Instant::now() < until, "{url} has no document");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// The visible text of an element; `None` without such an element.
    pub async fn text(&self, selector: &str) -> Result<Option<String>> {
        let Some(element) = self.find(selector).await? else { return Ok(None) };
        // The element may be gone by now: then the browser shows another page.
        let text = self.ask(Method::GET, &format!("element/{element}/text"), &Value::Null).await;
        Ok(text.ok().and_then(|text| text.as_str().map(str::to_owned)))
    }

    /// The element, as soon as the page has it. An error has the beginning of the page.
    async fn present(&self, selector: &str) -> Result<String> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(element) = self.find(selector).await? {
                return Ok(element);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let page = self.evaluate("document.body.innerText.slice(0, 300)").await?;
        anyhow::bail!("no {selector} on the page {page}")
    }

    /// Clicks on an element.
    pub async fn click(&self, selector: &str) -> Result<()> {
        for _ in 0..CLICKS {
            let element = self.present(selector).await?;
            let path = format!("element/{element}/click");
            match self.ask(Method::POST, &path, &json!({})).await {
                Ok(_) => return Ok(()),
                Err(error) if is_replaced(&error) => {}
                Err(error) => return Err(error),
            }
        }
        bail!("{selector} was replaced before each click")
    }

    /// Types into a field.
    pub async fn write(&self, selector: &str, text: &str) -> Result<()> {
        let element = self.present(selector).await?;
        let path = format!("element/{element}/value");
        self.ask(Method::POST, &path, &json!({ "text": text })).await.map(drop)
    }

    /// Types keys into the element that has the focus, as soon as it takes keys.
    pub async fn press(&self, keys: &str) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let active = self.ask(Method::GET, "element/active", &Value::Null).await?;
            let element = active[ELEMENT].as_str().context("nothing has the focus")?;
            let path = format!("element/{element}/value");
            match self.ask(Method::POST, &path, &json!({ "text": keys })).await {
                // A dialog that closes hides the field with the focus first.
                Err(error) if is_hidden(&error) && Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answer => return answer.map(drop),
            }
        }
    }

    /// The value of an expression in the page. Its promise is awaited.
    pub async fn evaluate(&self, expression: &str) -> Result<Value> {
        let wanted =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.devtools("Runtime.evaluate", &wanted).await?;
        let failed = answer.get("exceptionDetails");
        ensure!(failed.is_none(), "{:.80}: {}", expression, answer["exceptionDetails"]);
        Ok(answer["result"]["value"].clone())
    }

    /// Runs this script at the start of every later page.
    pub async fn run_in_each_page(&self, script: &str) -> Result<()> {
        let wanted = json!({ "source": script });
        self.devtools("Page.addScriptToEvaluateOnNewDocument", &wanted).await.map(drop)
    }

    /// Shows pages in this width and height of CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let wanted = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &wanted).await.map(drop)
    }

    /// Shows no scroll bars, as on a phone.
    pub async fn hide_scroll_bars(&self) -> Result<()> {
        let wanted = json!({ "hidden": true });
        self.devtools("Emulation.setScrollbarsHidden", &wanted).await.map(drop)
    }

    /// Shows local times of this zone, such as `Asia/Seoul`.
    pub async fn pretend_zone(&self, zone: &str) -> Result<()> {
        self.devtools("Emulation.setTimezoneOverride", &json!({ "timezoneId": zone }))
            .await
            .map(drop)
    }

    /// Sets preferences of the person, such as `("prefers-reduced-motion", "reduce")`.
    pub async fn prefer(&self, preferences: &[(&str, &str)]) -> Result<()> {
        let features: Vec<Value> = preferences
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        let wanted = json!({ "media": "", "features": features });
        self.devtools("Emulation.setEmulatedMedia", &wanted).await.map(drop)
    }

    /// Shows pages as they are on paper.
    pub async fn show_as_printed(&self) -> Result<()> {
        let wanted = json!({ "media": "print", "features": [] });
        self.devtools("Emulation.setEmulatedMedia", &wanted).await.map(drop)
    }

    /// Keeps a cookie for the host of the present page.
    pub async fn keep_cookie(&self, name: &str, value: &str) -> Result<()> {
        let cookie = json!({ "cookie": { "name": name, "value": value, "path": "/" } });
        self.ask(Method::POST, "cookie", &cookie).await.map(drop)
    }

    /// The picture of the page as PNG: the visible part, or at most `tallest` CSS pixels of its height.
    pub async fn picture(&self, tallest: Option<u32>) -> Result<Vec<u8>> {
        let metrics = self.devtools("Page.getLayoutMetrics", &json!({})).await?;
        let content = &metrics["cssContentSize"];
        // The viewport of the metrics is without the scroll bars.
        let window = self.evaluate("[innerWidth, innerHeight]").await?;
        let height = match tallest {
            Some(tallest) => content["height"].as_f64().unwrap_or(0.0).min(f64::from(tallest)),
            None => window[1].as_f64().unwrap_or(0.0),
        };
        let width = window[0].as_f64().unwrap_or(0.0);
        let wanted = json!({
            "format": "png", "captureBeyondViewport": tallest.is_some(),
            // Pictures of a window are published, so they are small. Others are kept for a person who looks at them once.
            "optimizeForSpeed": tallest.is_some(),
            "clip": { "x": 0, "y": 0, "width": width, "height": height, "scale": 1 },
        });
        let taken = self.devtools("Page.captureScreenshot", &wanted).await?;
        Ok(STANDARD.decode(taken["data"].as_str().context("no picture")?)?)
    }

    async fn devtools(&self, command: &str, parameters: &Value) -> Result<Value> {
        let wanted = json!({ "cmd": command, "params": parameters });
        self.ask(Method::POST, "goog/cdp/execute", &wanted).await
    }

    /// The messages of the browser's console: script errors and violations of the content policy.
    pub async fn console_errors(&self) -> Result<Vec<String>> {
        let log = self.ask(Method::POST, "se/log", &json!({ "type": "browser" })).await?;
        let lines = log.as_array().context("no log")?;
        Ok(lines.iter().filter_map(|line| line["message"].as_str().map(str::to_owned)).collect())
    }

    async fn find(&self, selector: &str) -> Result<Option<String>> {
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = self.ask(Method::POST, "elements", &wanted).await?;
        Ok(found[0][ELEMENT].as_str().map(str::to_owned))
    }

    async fn ask(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        self.call(method, &format!("{}/{path}", self.session), body).await
    }

    async fn call(&self, method: Method, url: &str, body: &Value) -> Result<Value> {
        let mut request = self.http.request(method, url);
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        let answer = request.send().await?;
        let is_good = answer.status().is_success();
        let answer: Value = serde_json::from_str(&answer.text().await?)?;
        let value = &answer["value"];
        if !is_good {
            bail!("{}: {}", value["error"], value["message"]);
        }
        ensure!(value.get("error").is_none(), "{value}");
        Ok(value.clone())
    }
}

/// The browser that the driver starts. Its own sandbox does not work for root, and containers have little shared memory.
fn wanted() -> Value {
    let arguments = ["--no-sandbox", "--disable-dev-shm-usage"];
    let options = json!({ "args": arguments, "binary": BROWSER });
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "goog:chromeOptions": options,
    } } })
}

/// Whether the page replaced an element between the search for it and the click on it. Then nothing was clicked.
fn is_replaced(error: &anyhow::Error) -> bool {
    let text = error.to_string();
    text.contains("does not belong to the document") || text.contains("stale element reference")
}

/// Whether an element takes no keys at this moment. Then none was sent.
fn is_hidden(error: &anyhow::Error) -> bool {
    is_replaced(error) || error.to_string().contains("element not interactable")
}

impl Drop for Browser {
    /// The driver closes its browser on request. Then the shell kills what still runs.
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let mut curl = Command::new("curl");
            curl.args(["-s", "-m", "20", "-o", "/dev/null", "-X", "DELETE", &self.session]);
            // A browser that is gone already needs no closing.
            let _ = curl.status();
        }
        // This closes the input of the shell.
        let _ = self.driver.wait();
    }
}
