import type { OutboxHandler } from '../db/index.ts'
import { deliverHandler } from './deliver-alert.ts'
import type { AlertsDeps } from './deps.ts'
import { foldHandler, foldTopic } from './fold-alerts.ts'
import { tellTopic } from './raise-alert.ts'
import { deliverTopic, tellHandler } from './tell-alert.ts'

/** The follow-up work of this room, by topic. */
export const alertWork = (deps: AlertsDeps): Readonly<Record<string, OutboxHandler>> => ({
  [tellTopic]: tellHandler(deps),
  [foldTopic]: foldHandler(deps),
  [deliverTopic]: deliverHandler(deps),
})
