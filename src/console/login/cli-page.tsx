import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, Button, Id, Loading, PageHeader, ProblemView, useAttempt } from '../kit/index.ts'
import { titles } from './titles.ts'
import { words } from './words.ts'

const cliLoginQuery = (userCode: string) => ({
  queryKey: ['admin', 'cli-login', userCode],
  queryFn: () => api.admin.showCliLogin({ params: { userCode } }),
  retry: false,
})

/** Approves the login of a command line, after its code was compared. */
export function Page() {
  const { code = '' } = useSearch({ strict: false }) as { code?: string }
  return (
    <>
      <PageHeader title={titles.cli} />
      {code === '' ? <p>{words.cliNoCode}</p> : <Approval userCode={code} />}
    </>
  )
}

function Approval({ userCode }: Readonly<{ userCode: string }>) {
  const login = useQuery(cliLoginQuery(userCode))
  const [isDone, setDone] = useState(false)
  const { busy, error, attempt } = useAttempt()
  if (isDone) return <p role="status">{words.cliDone}</p>
  if (login.error) return <ProblemView error={login.error} onRetry={() => void login.refetch()} />
  if (!login.data) return <Loading />
  const approve = () =>
    attempt(async () => {
      await api.admin.approveCliLogin({ params: { userCode } })
      setDone(true)
    })
  return (
    <>
      <p>{words.cliHint}</p>
      <p>
        <Id>{userCode}</Id>
      </p>
      <p>
        {words.cliFrom(login.data.address)} {words.cliWarning}
      </p>
      {error !== undefined && <ProblemView error={error} />}
      <Button look="primary" onPress={approve} isDisabled={busy}>
        {words.cliApprove}
      </Button>
    </>
  )
}
