import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** Texts of the address after the question mark. */
export type SearchState = Readonly<Record<string, string | undefined>>

export const parseSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search))

export function stringifySearch(search: Record<string, unknown>): string {
  const parts = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(parts.map(([key, value]) => [key, String(value)])).toString()
  return text ? `?${text}` : ''
}

/** The state of a page in its address. `change` replaces the entry of the history, so that Back leaves the page. */
export function useSearchState(): readonly [SearchState, (change: SearchState) => void] {
  const search = useSearch({ strict: false }) as SearchState
  const navigate = useNavigate()
  const change = useCallback(
    (next: SearchState) =>
      void navigate({ to: '.', search: ((before: SearchState) => ({ ...before, ...next })) as never, replace: true, resetScroll: false }),
    [navigate],
  )
  return [search, change]
}
