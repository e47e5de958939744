/** The few log calls that drivers use; pino fits. */
export interface DriverLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
