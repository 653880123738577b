import type { ReactNode } from 'react'
import { Button, Tooltip, TooltipTrigger } from 'react-aria-components'

type Props = Readonly<{ className: string; why: string; children: ReactNode; autoFocus?: boolean; 'aria-label'?: string }>

/** A button that does nothing and says why, on hover and on focus. */
// biome-ignore lint/style/noDefaultExport: React loads it where it is needed
export default function RefusedButton({ why, ...button }: Props) {
  return (
    <TooltipTrigger delay={200} closeDelay={80}>
      <Button {...button} aria-disabled />
      <Tooltip className="tooltip" offset={6}>
        {why}
      </Tooltip>
    </TooltipTrigger>
  )
}
