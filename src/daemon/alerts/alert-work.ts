import type { OutboxHandler } from '../db/index.ts'
import { deliverHandler } from './deliver-alert.ts'
import { foldHandler, foldTopic } from './fold-alerts.ts'
import type { AlertsNeeds } from './needs.ts'
import { tellTopic } from './raise-alert.ts'
import { deliverTopic, tellHandler } from './tell-alert.ts'

/** The follow-up work of this room, by topic. */
export const alertWork = (needs: AlertsNeeds): Readonly<Record<string, OutboxHandler>> => ({
  [tellTopic]: tellHandler(needs),
  [foldTopic]: foldHandler(needs),
  [deliverTopic]: deliverHandler(needs),
})
