import { useSyncExternalStore } from 'react'

/** The width of a phone, as in `styles/narrow.css`. */
const narrow = globalThis.matchMedia?.('(max-width: 760px)')

export const useIsNarrow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      narrow?.addEventListener('change', listener)
      return () => narrow?.removeEventListener('change', listener)
    },
    () => narrow?.matches ?? false,
  )
