/**
 * PLACEHOLDER that the settings room replaces by one zod schema (doc, type, default, variable name of each); the field names
 * and units below are fixed, everything else relies on them.
 */
export interface ProcessSettings {
  /** REDIS_URL. */
  redisUrl: string;
  /** REDIS_HASH_TAG: what stands between the braces of every key; default `chat-recovery`. */
  redisTag: string;
  /** HOST, PORT of the watcher; 127.0.0.1:8787. */
  host: string;
  port: number;
  /** ADMIN_TOKEN; undefined: loopback only. */
  adminToken: string | undefined;
  /** CHAT_RECOVERY_CONFIG: the YAML instance file. */
  configFile: string | undefined;
  /** DATA_DIR, default `./data`. */
  dataDir: string;
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** WEBHOOK_TOLERANCE_MS, 300 000. */
  webhookToleranceMs: number;
  /** WORKER_CONCURRENCY 5 (per process), WORKER_REPLICAS 1 (processes that start and compose run). */
  workerConcurrency: number;
  workerReplicas: number;
  /** RECOVERY_MAX_NUDGES_PER_HOUR 60, RECOVERY_MAX_CONCURRENT 5; 0: no limit. */
  maxNudgesPerHour: number;
  maxConcurrent: number;
  /** RECOVERY_MAX_NOTICE_AGE_MS 6 h, RECOVERY_SETTLE_MS 10 s, RECOVERY_DRY_RUN false. */
  maxNoticeAgeMs: number;
  settleMs: number;
  dryRun: boolean;
  /** NUDGE_CONFIRM_MS 60 s, WAKE_GRACE_MS 30 s, SESSION_TTL 7 d, WATCH_MAX_AGE 24 h (both take `7d`, `24h`, `500ms` or ms). */
  nudgeConfirmMs: number;
  wakeGraceMs: number;
  sessionTtlMs: number;
  watchMaxAgeMs: number;
  /** TRANSCRIPT_SCAN_LIMIT 64 MB (takes `64MB` or bytes). */
  scanLimitBytes: number;
  /** NUDGE_LABEL `Paddock recovery`; NUDGE_TEMPLATE_FILE: a text template of one's own. */
  nudgeLabel: string;
  nudgeTemplateFile: string | undefined;
  /** SESSION_API_TIMEOUT_MS 10 000, SHUTDOWN_DEADLINE_MS 8 000. */
  sessionApiTimeoutMs: number;
  shutdownDeadlineMs: number;
  /** From the YAML list `chatServers:`, else one called `default` from the environment. */
  chatServers: ChatServer[];
}

/** One chat server that this deployment serves. */
export interface ChatServer {
  id: string;
  /** Standard Webhooks secrets (`whsec_…` or plain); several for rotation; empty: unsigned, loopback only. */
  webhookSecrets: string[];
  sessionApi: { driver: 'http' | 'none'; url: string | undefined; token: string | undefined };
  /** Holds `<slug>/project.yaml`; undefined: no project overrides. */
  projectsDir: string | undefined;
  /** `theirs` is the path as the sender writes it, `ours` as this process opens it; equal where nothing is mounted elsewhere. */
  transcriptRoots: { theirs: string; ours: string }[];
  /** Claude home for `cwd`-only deliveries; `~/.claude`. */
  claudeHome: string;
}

/** Which level each process setting came from, and what was wrong on the way (never fatal unless the schema says so). */
export interface LoadedSettings {
  settings: ProcessSettings;
  sources: Record<string, 'default' | 'file' | 'environment'>;
  warnings: string[];
}
