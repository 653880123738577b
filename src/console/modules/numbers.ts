import type { OperatedModule } from '../../core/modules/index.ts'
import { moneyText } from '../../core/payments/index.ts'

/** Upper ends of buckets, so whole numbers. */
export const milliseconds = (value: number): string => `${value} ms`

export const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`

export const priceText = ({ price }: Pick<OperatedModule, 'price'>): string => (price ? `${moneyText(price)} a month` : 'free')
