import { useEffect, useState } from 'react'
import { Input, Label, TextField } from 'react-aria-components'
import { ActionDialog, api, onProofRequired, useWhoAmI } from '../kit/index.ts'
import { words } from './words.ts'

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
  return <ProofDialog answer={answer} />
}

function ProofDialog({ answer }: Readonly<{ answer: Answer }>) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const hasTotp = useWhoAmI()?.totp === true
  const totp = code.replaceAll(' ', '')
  return (
    <ActionDialog
      title={words.reauthenticate}
      consequence={words.reauthenticateWhy}
      confirm="Continue"
      isComplete={password !== '' && (!hasTotp || totp !== '')}
      run={async () => {
        await api.admin.reauthenticate({ body: { password, ...(hasTotp ? { totp } : {}) } })
        answer(true)
      }}
      onClose={() => answer(false)}
    >
      <TextField className="field" type="password" value={password} onChange={setPassword} autoComplete="current-password" autoFocus>
        <Label>{words.password}</Label>
        <Input />
      </TextField>
      {hasTotp && (
        <TextField className="field" value={code} onChange={setCode} autoComplete="one-time-code">
          <Label>{words.code}</Label>
          <Input />
        </TextField>
      )}
    </ActionDialog>
  )
}
