import { useSyncExternalStore } from 'react'
import { followStream as followAgain, type StreamMessage } from '../../core/contract/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { api } from './api.ts'
import { now } from './clock.ts'
import { queryClient } from './queries.ts'

type StreamState = Readonly<{ state: 'connecting' | 'open' | 'away'; since: number }>
type Follow<Data> = Readonly<{
  /** Opens the stream after the event of that id. */
  open(lastEventId: string | undefined, signal: AbortSignal): Promise<AsyncIterable<StreamMessage<Data>>>
  onMessage(message: StreamMessage<Data>): void
  /** Called at each opening but the first: something may have been missed. */
  onReopened?(): void
  onState?(state: StreamState['state']): void
}>

const pauses = { firstMs: 500, maxMs: 10_000 }

/** Follows a stream until the signal aborts or the session ends; reconnects by itself, after the last event that arrived. */
export function followStream<Data>({ open, onMessage, onReopened, onState }: Follow<Data>, signal: AbortSignal): Promise<void> {
  let [wasOpened, isLoggedOut] = [false, false]
  return followAgain(
    { sleep: wait, signal, pauses },
    {
      open: (lastEventId) => open(lastEventId, signal),
      onOpened: () => {
        onState?.('open')
        if (wasOpened) onReopened?.()
        wasOpened = true
      },
      onMessage,
      onLost: ({ error }) => {
        isLoggedOut = isProblem(error, 'UNAUTHENTICATED')
        if (!isLoggedOut) onState?.('away')
      },
      isOver: () => isLoggedOut,
    },
  )
}

const wait = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms)
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        done()
      },
      { once: true },
    )
  })

let current: StreamState = { state: 'connecting', since: now().getTime() }
const listeners = new Set<() => void>()

function setState(state: StreamState['state']): void {
  if (state === current.state) return
  current = { state, since: now().getTime() }
  for (const listener of listeners) listener()
}

/** The state of the one stream of events, for the banner. */
export const useStreamState = (): StreamState =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )

const settleMs = 250

/**
 * Follows all stored events and asks again for what they changed. `affected` names the first parts of query keys by the beginning of an
 * event's type. A burst of events asks once.
 */
export async function followEvents(affected: Readonly<Record<string, readonly string[]>>, signal: AbortSignal): Promise<void> {
  const due = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const refresh = () => {
    timer = undefined
    for (const key of due) void queryClient.invalidateQueries({ queryKey: [key] })
    due.clear()
  }
  await followStream(
    {
      open: (_, streamSignal) => api.events.tailEvents({ query: { last: 0 } }, { signal: streamSignal }),
      onMessage: ({ data }) => {
        for (const [begin, keys] of Object.entries(affected)) if (data.type.startsWith(begin)) for (const key of keys) due.add(key)
        if (due.size > 0) timer ??= setTimeout(refresh, settleMs)
      },
      onReopened: () => void queryClient.invalidateQueries(),
      onState: setState,
    },
    signal,
  )
  clearTimeout(timer)
}
