import { useSyncExternalStore } from 'react'

/** The daemon's time minus the browser's, from the header `Date` of its answers; below this much it is rounding. */
const roundingMs = 1500
let offsetMs = 0

/** Now by the daemon's clock: ages on screen agree with its log, whatever the browser's clock says. */
export const now = (): Date => new Date(byDaemonClock(Date.now()))

/** A time of the browser's clock, by the daemon's. */
export const byDaemonClock = (ms: number): number => ms + offsetMs

export function learnServerTime(header: string | null): void {
  const at = Date.parse(header ?? '')
  if (Number.isNaN(at)) return
  const offset = at - Date.now()
  offsetMs = Math.abs(offset) > roundingMs ? offset : 0
}

const tickMs = 5000
let tickAt = now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    tickAt = now()
    for (const one of listeners) one()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The present time, at intervals of five seconds: one timer for the whole page. */
export const useNow = (): Date => useSyncExternalStore(subscribe, () => tickAt)

const timers = new Set<() => void>()
let second: ReturnType<typeof setInterval> | undefined
let secondAt = now()

function subscribeSeconds(listener: () => void): () => void {
  timers.add(listener)
  secondAt = now()
  second ??= setInterval(() => {
    secondAt = now()
    for (const one of timers) one()
  }, 1000)
  return () => {
    timers.delete(listener)
    if (timers.size > 0) return
    clearInterval(second)
    second = undefined
  }
}

/** The present time each second, for what runs right now. */
export const useSeconds = (): Date => useSyncExternalStore(subscribeSeconds, () => secondAt)
