/* One event, two receivers, a redrive, their store and dead letters, in every order: docs/project/model.md explains it. */

/* Bounds. The configurations of run.ts set them, and LETTERS, JOURNAL, USES_ONCE and TWO_HANDLERS. */
#ifndef RECEIVERS
#define RECEIVERS 2 /* or 1 */
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 3 /* deliveries of the event, at any time; then the sender gives up */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef FAULTS
#define FAULTS 1 /* calls of a store that fail, or that it obeys later than anyone waits */
#endif
#ifndef REDRIVES
#define REDRIVES 1 /* besides the last one, which meets no fault */
#endif

#define REDRIVER 2 /* actors 0 and 1 are the receivers */
#define NOBODY 3   /* who crashed, or has ended its attempt */
#define LATE 4     /* a call that its caller has given up, and with it the claim */

mtype = { unknown, running, released, completed };   /* what the store remembers of the event */
mtype = { nothing, unfinished, failed, rejected };   /* why there is a dead letter */
mtype = { granted, busy, done, down, yes, no, missing }; /* what a store answers */
mtype = { absent, open, committed };                 /* the row of `once`, with the handler's writes */
mtype = { none, claim_, giveBack_, complete_, release_, keep_, change_, remove_, once_ };

/* The store of event ids. `owner` stands for the fencing number of the latest claim. */
mtype event = unknown;
byte owner = NOBODY;
bit lapsed, claimedBefore;
bit finished; /* With TWO_HANDLERS: the handler that calls `once` has succeeded, and is skipped from now on. */

/* The store of dead letters. `current`: the letter that an actor knows is the one that is there. */
mtype letter = nothing;
bit current[3];

/* The row of `once`. While its transaction is open, others wait. `holder`: whose handler waits for the end of the transaction. */
mtype row = absent;
byte holder = NOBODY;
#ifdef BUG_TOKEN_PER_RUN
byte token = NOBODY;
#endif

/* What is left of each bound. */
byte attempts = ATTEMPTS, crashes = CRASHES, faults = FAULTS, redrives = REDRIVES;
/* The cause of all failures is fixed: what is redriven now succeeds. */
bit fixed;
byte working;

/* At most one call that its caller has given up. */
mtype lateCall = none, lateWhy = nothing;

/* What is true, whatever the code knows. */
bit handled;      /* A handler has done its work, for good: with `once`, its writes are committed. */
bit owed;         /* Somebody relies on the receiver: it answered 2xx, or kept the event. */
bit inLease[3];   /* An actor has a claim that has not lapsed. */
bit runs[3];      /* Its handlers run. */

/* The properties. They are variables so that the checker names the one that does not hold. */
bit P1 = 1;       /* No 2xx unless the event is handled or kept. */
bit P4 = 1;       /* No two runs in one lease, and no run of a completed event. */
bit KEPT = 1;     /* With dead letters, a failure of handlers is answered only once the event is kept. */
bit ONCE = 1;     /* With `once`, the writes are committed at most once. */
bit END = 1;      /* What is owed or completed is in the end handled, and no letter of it is left. */

/* A way out of every step that lets other actors go first. */
#define CRASH :: crashes > 0 -> crashes--; printf("%d crashes\n", me); goto idle

/* Each call of a store is obeyed at once, fails, or is obeyed when nobody waits for the answer any more. */
#define CALL_FAILS :: faults > 0 -> faults--; answer = down; printf("%d: the call fails\n", me)
#define CALL_IS_LATE(call, why) \
  :: faults > 0 && lateCall == none -> \
    faults--; answer = down; lateCall = call; lateWhy = why; printf("%d: no answer yet\n", me)

inline giveUpClaim() {
  if
  :: owner == me -> owner = LATE
  :: else
  fi
}

inline claim() {
  if
  :: event == completed -> answer = done; printf("%d claims: completed\n", me)
  :: event == running && !lapsed -> answer = busy; printf("%d claims: in progress\n", me)
  :: event != completed && (event != running || lapsed) ->
    owner = me;
    event = running;
    lapsed = 0;
    inLease[me] = 1;
    again = claimedBefore;
    claimedBefore = 1;
    answer = granted;
    printf("%d claims: granted\n", me)
  CALL_FAILS
  CALL_IS_LATE(claim_, nothing)
  CRASH
  fi
}

/* A claim that commits by itself could take the event from an owner whose lease has lapsed, so it is only read. */
inline read() {
  if
  :: event == completed -> answer = done; printf("%d reads: completed\n", me)
  :: event != completed -> answer = no; printf("%d reads: not completed\n", me)
  CALL_FAILS
  CRASH
  fi
}

#ifdef BUG_COMPLETE_WITHOUT_TOKEN
#define OWNED(number) (event == running)
#else
#define OWNED(number) (event == running && owner == number)
#endif

inline removeNow() {
  letter = nothing; current[0] = 0; current[1] = 0; current[2] = 0
}

inline completeNow() {
  event = completed; owner = NOBODY; lapsed = 0; finished = 0
}

/* The statement that completes the claim also reads the rows that `once` reported. */
#if !defined(USES_ONCE) || defined(BUG_NO_READ_BACK)
#define ROWS_THERE(reports) true
#else
#define ROWS_THERE(reports) (!(reports) || row == committed)
#endif

inline complete() {
  if
  :: OWNED(me) && ROWS_THERE(reported) -> completeNow(); answer = yes; printf("%d completes the event\n", me)
  :: OWNED(me) && !ROWS_THERE(reported) -> answer = missing; printf("%d cannot complete the event: its row is missing\n", me)
  :: !OWNED(me) -> answer = no; printf("%d cannot complete the event: its claim is lost\n", me)
  CALL_FAILS
  CALL_IS_LATE(complete_, nothing); giveUpClaim()
  CRASH
  fi
}

inline releaseNow() {
  event = released; owner = NOBODY; lapsed = 0
}

inline release() {
  if
  :: event == running && owner == me ->
#ifdef BUG_FINISHED_UNREAD
    finished = finished || finishes;
#else
    /* Nobody reads the row of a handler that is skipped, so it is read here. */
    finished = finished || (finishes && row == committed);
#endif
    releaseNow(); answer = yes; printf("%d releases its claim\n", me)
  :: !(event == running && owner == me) -> answer = no; printf("%d cannot release: its claim is lost\n", me)
  CALL_FAILS
  CALL_IS_LATE(release_, nothing); giveUpClaim()
  CRASH
  fi
}


/* Changes the letter that this attempt knows, or keeps a new one. `down`: the event is not in the store. */
inline keep(why) {
#ifdef LETTERS
  if
  :: current[me] -> letter = why; answer = yes; printf("%d changes its letter to %e\n", me, why)
  /* What is redriven has been processed by somebody else. */
  :: !current[me] && me == REDRIVER -> knows = 0; answer = yes; printf("%d finds its letter gone\n", me)
  :: !current[me] && me != REDRIVER ->
    letter = why; owed = 1; knows = 1; current[me] = 1; answer = yes; printf("%d keeps the event as %e\n", me, why)
  /* A letter that cannot be changed is still there, as it was. */
  :: knows && faults > 0 -> faults--; answer = yes; printf("%d: the change of its letter fails\n", me)
  :: knows && faults > 0 && lateCall == none ->
    faults--; answer = yes; lateCall = change_; lateWhy = why; printf("%d: no answer yet\n", me)
  :: !knows && faults > 0 -> faults--; answer = down; printf("%d: the call fails\n", me)
  :: !knows && faults > 0 && lateCall == none ->
    faults--; answer = down; lateCall = keep_; lateWhy = why; printf("%d: no answer yet\n", me)
  CRASH
  fi
#else
  answer = yes
#endif
}

inline remove() {
#ifdef LETTERS
  if
  :: removeNow(); knows = 0; printf("%d removes the letter\n", me)
  CALL_FAILS
  CALL_IS_LATE(remove_, nothing)
  CRASH
  fi
#else
  skip
#endif
}

/* What a store does with a call whose answer nobody waits for. */
inline obeyLate() {
  if
  :: lateCall == claim_ && event != completed && (event != running || lapsed) ->
    owner = LATE; event = running; lapsed = 0; claimedBefore = 1; lateCall = giveBack_;
    printf("a late claim is granted\n")
  :: lateCall == complete_ && OWNED(LATE) && ROWS_THERE(1) ->
    completeNow(); lateCall = remove_; printf("the event is completed late\n")
  :: (lateCall == release_ || lateCall == giveBack_) && event == running && owner == LATE ->
    releaseNow(); lateCall = none; printf("a claim is released late\n")
  :: lateCall == keep_ -> letter = lateWhy; owed = 1; lateCall = none; printf("the event is kept late, as %e\n", letter)
  :: lateCall == change_ && letter != nothing -> letter = lateWhy; lateCall = none
  :: lateCall == remove_ -> removeNow(); lateCall = none; printf("the letter is removed late\n")
  :: lateCall == once_ && row == absent ->
    row = open; lateCall = none; printf("a transaction that nobody awaited gets its row\n")
  /* It is never obeyed. Or the receiver that would give back a claim, or remove the letter of a completed event, has crashed. */
  :: lateCall = none
  fi;
  if
  :: lateCall == none -> lateWhy = nothing
  :: else
  fi
}

/* Answers follow at once: a crash before one is a crash before the step that it ends. */
inline reply2xx() {
  if
  :: me != REDRIVER && !answered ->
    printf("%d answers 2xx\n", me);
    P1 = handled || letter != nothing;
    assert(P1);
    owed = 1;
    answered = 1
  :: else
  fi
}

/* 500 and 503 for what handlers did. A refusal for other reasons is no step: it changes nothing. */
inline replyFailure() {
  if
  :: me != REDRIVER && !answered ->
    printf("%d answers 5xx\n", me);
#ifdef LETTERS
    KEPT = handled || letter != nothing;
    assert(KEPT);
#endif
    answered = 1
  :: else
  fi
}

inline start() {
  printf("%d starts the handlers\n", me);
  P4 = event != completed && !(me != 0 && runs[0] && inLease[0]) && !(me != 1 && runs[1] && inLease[1]) &&
    !(me != 2 && runs[2] && inLease[2]);
  assert(P4);
  runs[me] = 1;
#ifdef JOURNAL
  owed = 1
#endif
}

/* From here on nothing depends on the lease, but on what the store says. */
inline endRun() {
  runs[me] = 0; inLease[me] = 0
}

inline succeed() {
  endRun();
#ifndef USES_ONCE
  handled = 1;
#endif
  printf("%d: the handlers succeed\n", me);
  /* A renewal may have said that another attempt has the claim. */
  if
  :: owner != me -> verdict = failed
  :: verdict = completed
  fi
}

inline fail(why) {
  verdict = why;
  endRun();
  printf("%d: the handlers end as %e\n", me, why)
}

/* They took their signal, saw it abort, and returned without having done their work. */
inline giveUp() {
  printf("%d: the handlers give up\n", me);
#ifdef BUG_LATE_SUCCESS
  verdict = completed;
#else
  verdict = failed;
#endif
  endRun()
}

inline commitNow() {
  ONCE = !handled;
  assert(ONCE);
  handled = 1; row = committed; holder = NOBODY
}

inline rollBack() {
  if
  :: holder == me -> row = absent; holder = NOBODY
  :: else
  fi
}

/* The handler goes on without its transaction, which may still commit: nobody awaited it, or its COMMIT has no answer. */
inline forsake() {
  if
  :: holder == me -> holder = NOBODY
  :: else
  fi
}

/* What a handler may do at each of its steps, until the cause of all failures is fixed. */
#define TIMEOUT :: !fixed && !answered -> printf("%d: the handlers outlast the timeout\n", me); goto outlasted
#ifdef LETTERS
#define REFUSE :: !fixed -> fail(rejected); goto settled
#else
#define REFUSE
#endif
#define FAIL \
  :: !fixed -> fail(failed); goto settled \
  REFUSE \
  :: !fixed && (answered || !inLease[me]) -> giveUp(); goto settled
/* It never settles, and its claim is renewed no more: nothing happens here any more. */
#define HANG :: answered && !inLease[me] -> printf("%d: the handlers hang\n", me); goto idle

/* A receiver, or the redrive of one. From `claim` on it is src/receiver/process-event.ts. */
proctype Actor(byte me) {
  byte answer;
  byte verdict;
  bit knows;  /* There is a letter, as far as this attempt knows. */
  bit again;  /* The event has been claimed before. */
  bit answered;
  bit finishes, skips; /* The handler that calls `once` has succeeded: on this attempt, or on an earlier one. */
  bit reported; /* `once` has told the handler that its writes are committed. */

idle:
  atomic {
    inLease[me] = 0; runs[me] = 0; current[me] = 0;
    answer = no; verdict = nothing; knows = 0; again = 0; answered = 0; reported = 0; finishes = 0; skips = 0;
    if
    :: owner == me -> owner = NOBODY
    :: else
    fi;
    forsake();
#ifdef BUG_TOKEN_PER_RUN
    if
    :: token == me -> token = NOBODY
    :: else
    fi;
#endif
    if
    /* The first delivery comes to receiver 0: the other order is the same. */
    :: me != REDRIVER && attempts > 0 && (me == 0 || attempts < ATTEMPTS) -> attempts--; printf("%d is given a delivery\n", me)
    :: me == REDRIVER && redrives > 0 && (letter == failed || letter == unfinished || (fixed && letter == rejected)) ->
      redrives--; knows = 1; current[me] = 1; printf("%d begins a redrive\n", me)
    :: me != REDRIVER && attempts == 0 -> goto ended
    :: me == REDRIVER && (redrives == 0 || (attempts == 0 && (!fixed || letter == nothing))) -> goto ended
    fi;
#ifdef BUG_REDRIVE_UNCLAIMED
    if
    :: me == REDRIVER -> goto started
    :: else
    fi
#endif
  }
  atomic {
    claim();
    if
    :: answer == down -> goto idle
    :: answer == busy ->
#ifdef BUG_DUPLICATE_200
      reply2xx();
#endif
      goto idle
    :: answer == done -> answer = no; goto duplicate
    :: answer == granted -> answer = no
    fi
  }

  /* Letter.enter() */
  atomic {
    if
    :: me == REDRIVER ->
      if
      :: current[me]
      :: !current[me] -> knows = 0; goto unworked
      :: faults > 0 -> faults--; goto unworked
      CRASH
      fi
    :: else ->
#ifdef JOURNAL
      keep(unfinished);
      if
      :: answer == down -> goto unworked
      :: else -> answer = no
      fi
#else
      skip
#endif
    fi
  }

started:
  atomic {
    if
#ifdef BUG_REDRIVE_UNCLAIMED
    :: me == REDRIVER || inLease[me] -> start()
#else
    :: inLease[me] -> start()
#endif
    /* By its own clock, which started no later than the lease. */
    :: !inLease[me] -> printf("%d comes too late for its lease\n", me); goto unworked
    CRASH
    fi
  }

#ifdef USES_ONCE
#ifdef TWO_HANDLERS
  atomic {
    if
    :: finished -> skips = 1; printf("%d skips the handler that has finished\n", me); goto rest
    :: else
    fi
  }
#endif
once:
  /* Until BEGIN nobody sees anything, so it is one step with the row. Here the handler may also call `once` again. */
  atomic {
    if
    :: row == absent ->
#ifdef BUG_ROW_OUTSIDE
      row = committed; printf("%d commits its row\n", me); goto commit
#else
      row = open; holder = me; printf("%d inserts its row\n", me)
#ifdef BUG_TOKEN_PER_RUN
      ; token = me
#endif
#endif
#ifdef BUG_TOKEN_PER_RUN
    :: row == committed && token == me -> printf("%d takes its row for a new one\n", me); goto commit
    :: row == committed && token != me ->
#else
    :: row == committed ->
#endif
      reported = 1; printf("%d finds the row, and skips the work\n", me); goto rest
    /* Otherwise it waits for the transaction that holds the row. */
#ifdef BUG_NO_WAIT
    :: row == open -> printf("%d does not wait for the row\n", me); goto commit
#endif
    :: !fixed && faults > 0 && lateCall == none && row == open -> faults--; lateCall = once_;
      reported = 1; printf("%d: nobody awaits the transaction\n", me); goto rest
#ifdef BUG_SWALLOWED
    :: !fixed -> printf("%d swallows the rejection of once\n", me); succeed(); goto settled
#endif
    FAIL
    TIMEOUT
    HANG
    CRASH
    fi
  }
  /* Nobody sees the writes before the commit, so they are one step with it. */
commit:
  atomic {
    if
    :: printf("%d writes and commits\n", me); commitNow(); reported = 1
    :: !fixed -> rollBack(); printf("%d rolls back\n", me); goto once
    /* An error was swallowed, or COMMIT was answered with ROLLBACK. */
    :: !fixed -> rollBack(); reported = 1; printf("%d takes a rollback for a commit\n", me)
    :: !fixed -> forsake(); printf("%d: COMMIT has no answer\n", me); goto once
    :: !fixed -> forsake(); reported = 1; printf("%d: nobody awaits the COMMIT\n", me)
    TIMEOUT
    HANG
    CRASH
    fi
  }
#endif

rest:
  atomic {
    if
#ifdef TWO_HANDLERS
    :: !fixed && !skips -> finishes = 1; printf("%d: the other handler fails\n", me); fail(failed); goto settled
#endif
    :: succeed(); goto settled
    FAIL
    TIMEOUT
    HANG
    CRASH
    fi
  }

outlasted:
  atomic {
    keep(failed);
    if
    :: answer == down
    :: else -> replyFailure()
    fi;
    answered = 1; answer = no;
#ifdef USES_ONCE
    if
    :: holder == me -> goto commit
    :: holder != me && (reported || skips) -> goto rest
    :: holder != me && !reported && !skips -> goto once
    fi
#elif !defined(BUG_RELEASE_EARLY)
    goto rest
#endif
  }
#ifdef BUG_RELEASE_EARLY
  atomic { release(); goto rest }
#endif

settled:
  atomic {
    if
    :: verdict != completed -> goto unprocessed
    :: else
    fi;
#ifdef BUG_REMOVE_EARLY
    remove()
#endif
  }
  atomic {
    complete();
    if
    :: answer == no -> verdict = failed; goto unclaimed
    :: answer == missing -> verdict = failed; goto unprocessed
#if defined(USES_ONCE) && !defined(BUG_UNANSWERED)
    /* Nobody has read the row. */
    :: answer == down -> verdict = failed; goto unclaimed
#endif
    :: else
    fi;
    if
    :: knows || again -> answer = no
    :: else -> reply2xx(); goto idle
    fi
  }
duplicate:
  atomic { remove(); reply2xx(); goto idle }

unprocessed:
  atomic {
    keep(verdict);
    if
    :: answer == down -> answered = 1
    :: else
    fi
  }
  atomic { release(); goto ending }

unclaimed:
  atomic {
    keep(verdict);
    if
    :: answer == down -> answered = 1
    :: else
    fi;
    answer = no;
    goto ending
  }

unworked:
  answered = 1;
  atomic { release() }

ending:
  atomic {
    if
    :: answer == no && knows
    :: else -> goto answering
    fi
  }
  /* Another attempt may have completed the event before it was kept here, and found no letter. */
  atomic {
    read();
    if
    :: answer == done -> goto completedMeanwhile
    :: else -> goto answering
    fi
  }
completedMeanwhile:
  atomic { remove() }
answering:
  atomic {
    if
    :: verdict == rejected -> reply2xx()
    :: else -> replyFailure()
    fi
  }
  goto idle;

ended:
  working--
}

/* Any lease may lapse at any time: its owner has crashed, is blocked, or cannot reach the store. */
inline lapse() {
  lapsed = 1;
  if
  :: owner < NOBODY -> inLease[owner] = 0
  :: else
  fi;
  printf("the lease lapses\n")
}

#define ABANDONED (holder == NOBODY && row == open)

init {
  atomic {
    run Actor(0);
    working = RECEIVERS;
    if
    :: RECEIVERS == 2 -> run Actor(1)
    :: else
    fi;
#ifdef LETTERS
    run Actor(REDRIVER);
    working++
#endif
  }
  do
  :: atomic { event == running && !lapsed -> lapse() }
  :: atomic { lateCall != none -> obeyLate() }
  :: atomic { attempts > 0 -> attempts = 0; printf("the sender gives up\n") }
#ifdef USES_ONCE
  /* The database rolls back the transaction of a process that has crashed, at any later time. */
  :: atomic { ABANDONED -> row = absent; printf("an abandoned transaction is rolled back\n") }
  :: atomic { ABANDONED -> printf("an abandoned transaction is committed\n"); commitNow() }
#endif
  :: atomic { working == 0 && lateCall == none && !(event == running && !lapsed) && !ABANDONED -> break }
  od;
#ifdef LETTERS
  atomic { printf("the cause is fixed\n"); fixed = 1; crashes = 0; faults = 0; redrives = 1; working = 1; run Actor(REDRIVER) }
  working == 0;
  END = (handled || (!owed && event != completed)) && letter == nothing;
#else
  END = handled || (!owed && event != completed);
#endif
  assert(END)
}
