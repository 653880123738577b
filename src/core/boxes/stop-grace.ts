const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/** What `stop_grace_period` of a compose file grants a service, in ms: `90s`, `1m30s`. Compose's default is 10 s. */
export function stopGraceMs(value: unknown): number {
  if (typeof value !== 'string') return 10_000
  return [...value.matchAll(/([0-9.]+)(ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
    0,
  )
}
