import type { Alert } from '../../core/alerts/index.ts'
import type { Tone } from '../kit/index.ts'

export const alertTone: Readonly<Record<Alert['severity'], Tone>> = { critical: 'failed', warning: 'warning', info: 'off' }
