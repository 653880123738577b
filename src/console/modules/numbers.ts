/** Upper ends of buckets, so whole numbers. */
export const milliseconds = (value: number): string => `${value} ms`

export const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`
