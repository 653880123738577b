// One schema, one load, frozen: what an operator may set, from a file or the environment. Unknown keys are refused with their path.
export type { ChannelSettings } from './alert-channels.ts'
export { type Config, loadConfig, variableNames } from './load.ts'
export { wrongWebhook } from './outbound.ts'
export { listSettings, redactedSettings } from './redacted.ts'
