import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { isTyping } from './kit/index.ts'
import { features } from './pages.ts'

const sequenceMs = 1500

/** `g` and a letter opens a page; Ctrl-K the palette; `?` the help. */
export function useShortcuts({ onPalette, onHelp }: Readonly<{ onPalette(): void; onHelp(): void }>): void {
  const navigate = useNavigate()
  const began = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const letters = new Map(
      features.flatMap(({ pages }) => pages).flatMap(({ path, nav }) => (nav?.shortcut ? [[nav.shortcut, path]] : [])),
    )
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
        isTyping(event.target) ||
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
