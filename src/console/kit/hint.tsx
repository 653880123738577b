import type { ReactNode } from 'react'
import { createPortal } from 'react-dom'

type Props = Readonly<{ id: string; of: HTMLElement | null; children: ReactNode }>

const [gapPx, heightPx, halfWidthPx] = [6, 60, 168]

/** A text below a control, or above it at the end of the window. Outside of the page: tables and dialogs cut what leaves them. */
export function Hint({ id, of, children }: Props) {
  if (!of) return null
  const { left, width, top, bottom } = of.getBoundingClientRect()
  const centre = Math.max(halfWidthPx, Math.min(innerWidth - halfWidthPx, left + width / 2))
  const isBelow = bottom + heightPx < innerHeight
  const place = { left: centre, top: isBelow ? bottom + gapPx : top - gapPx, transform: `translate(-50%, ${isBelow ? '0' : '-100%'})` }
  return createPortal(
    <span role="tooltip" id={id} className="tooltip" style={place}>
      {children}
    </span>,
    document.body,
  )
}
