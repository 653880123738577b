import { lazy, Suspense, useEffect, useState } from 'react'
import { onProofRequired } from '../kit/index.ts'

const ProofDialog = lazy(() => import('./proof-dialog.tsx'))

type Answer = (isProven: boolean) => void

/** Asks for password and code when a call needs them again; the call is then repeated. */
export function Reauthenticate() {
  const [waiting, setWaiting] = useState<readonly Answer[]>([])
  useEffect(() => onProofRequired(() => new Promise((resolve) => setWaiting((others) => [...others, resolve]))), [])
  if (waiting.length === 0) return null
  const answer: Answer = (isProven) => {
    for (const one of waiting) one(isProven)
    setWaiting([])
  }
  return (
    <Suspense fallback={null}>
      <ProofDialog answer={answer} />
    </Suspense>
  )
}
