import { useInput } from 'ink'
import type { ReactNode } from 'react'

/** A screen that is left with q or Ctrl-C. */
export function Keys({ active, leave, screen }: { active: boolean; leave: () => void; screen: ReactNode }) {
  useInput(
    (input, key) => {
      if (input === 'q' || (key.ctrl && input === 'c')) leave()
    },
    { isActive: active },
  )
  return <>{screen}</>
}
