import { useState } from 'react'
import { api, Sheet, useAttempt } from '../kit/index.ts'
import { Required } from './required.tsx'
import { useWords } from './words.tsx'

type Props = Readonly<{ title?: string; hint?: string; submit: string; current?: string; onDone(): void }>

/** Changes the own password. `current`: it was just entered, and is not asked for again. */
export function NewPassword({ current = '', onDone, ...texts }: Props) {
  const { login: words } = useWords()
  const [old, setOld] = useState(current)
  const [password, setPassword] = useState('')
  const [repeated, setRepeated] = useState('')
  const { busy, error, attempt } = useAttempt()
  const differs = repeated !== '' && repeated !== password
  const submit = () => {
    if (password === '' || password !== repeated) return
    attempt(async () => {
      await api.sessions.changeUserPassword({ body: { currentPassword: old, newPassword: password } })
      for (const clear of [setOld, setPassword, setRepeated]) clear('')
      onDone()
    })
  }
  return (
    <Sheet {...texts} onSubmit={submit} busy={busy} error={error}>
      {!current && <Required label={words.current} type="password" value={old} onChange={setOld} autoComplete="current-password" />}
      <Required label={words.newPassword} type="password" value={password} onChange={setPassword} autoComplete="new-password" />
      <Required
        label={words.repeat}
        type="password"
        value={repeated}
        onChange={setRepeated}
        autoComplete="new-password"
        error={differs ? words.differ : undefined}
      />
    </Sheet>
  )
}
