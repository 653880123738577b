import { useEffect } from 'react'
import { useSearchState } from './search-state.ts'

/** Opens what the palette asked for by `do=…` in the address, once, and takes it out of the address. An absent name is one that may not. */
export function usePaletteAction(actions: Readonly<Record<string, (() => void) | undefined>>): void {
  const [{ do: asked }, change] = useSearchState()
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once; the functions differ with each render
  useEffect(() => {
    if (!asked) return
    change({ do: undefined })
    actions[asked]?.()
  }, [asked])
}
