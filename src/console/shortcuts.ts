import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { isBlocked } from './kit/index.ts'
import { menuOf } from './menu.ts'
import { features } from './pages.ts'

const sequenceMs = 1500

/** `g` and a letter opens a page; Ctrl-K the palette; `?` the help. */
export function useShortcuts({ onPalette, onHelp }: Readonly<{ onPalette(): void; onHelp(): void }>): void {
  const navigate = useNavigate()
  const began = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const letters = new Map(menuOf(features.flatMap(({ pages }) => pages)).map(({ letter, path }) => [letter, path]))
    const onKey = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase()
      if (key === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        return onPalette()
      }
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isBlocked(event.target) ||
        document.querySelector('[role=dialog], [role=alertdialog]')
      )
        return
      if (key === '?') return onHelp()
      const to = event.timeStamp - began.current < sequenceMs ? letters.get(key) : undefined
      began.current = key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (!to) return
      event.preventDefault()
      void navigate({ to })
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [navigate, onPalette, onHelp])
}
