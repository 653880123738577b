import { type Problem, problem } from '../../core/kit/index.ts'

export const noChannels = (): Problem =>
  problem(
    'CONFIG',
    'nobody is set to be told: set TENANTRY_ALERTS_MAIL_TO or TENANTRY_ALERTS_WEBHOOK_URL and …_SECRET, and restart the daemon',
  )
