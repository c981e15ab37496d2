/* One event, two receivers, a redrive, their store and dead letters, in every order: docs/project/model.md explains it. */

/* Bounds. The configurations of run.ts set them, and LETTERS, JOURNAL and TRANSACTIONAL. */
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
mtype = { granted, busy, done, down, yes, no };      /* what a store answers */
mtype = { claim_, complete_, release_, keep_, change_, remove_ };

/* The store of event ids. `owner` stands for the fencing number of the latest claim. */
mtype event = unknown;
byte owner = NOBODY;
bit lapsed, claimedBefore;

/* The store of dead letters. `current`: the letter that an actor knows is the one that is there. */
mtype letter = nothing;
bit current[3];

/* What is left of each bound. */
byte attempts = ATTEMPTS, crashes = CRASHES, faults = FAULTS, redrives = REDRIVES;
/* The cause of all failures is fixed: what is redriven now succeeds. */
bit fixed;
byte working, late;

/* What is true, whatever the code knows. */
bit handled;      /* A handler has done its work, for good. */
bit owed;         /* Somebody relies on the receiver: it answered 2xx, or kept the event. */
bit inLease[3];   /* An actor has a claim that has not lapsed. */
bit runs[3];      /* Its handlers run. */

/* The properties. They are variables so that the checker names the one that does not hold. */
bit P1 = 1;       /* No 2xx unless the event is handled or kept. */
bit P4 = 1;       /* No two runs in one lease, and no run of a completed event. */
bit KEPT = 1;     /* With dead letters, a failure of handlers is answered only once the event is kept. */
bit END = 1;      /* What is owed is in the end processed, and no letter of it is left. */

/* A way out of every step that lets other actors go first. */
#define CRASH :: crashes > 0 -> crashes--; printf("%d crashes\n", me); goto idle

/* Each call of a store is obeyed at once, fails, or is obeyed when nobody waits for the answer any more. */
#define CALL_FAILS :: faults > 0 -> faults--; answer = down; printf("%d: the call fails\n", me)
#define CALL_IS_LATE(call, number, why) \
  :: faults > 0 -> faults--; answer = down; printf("%d: no answer yet\n", me); late++; run Late(call, number, why)

inline giveUpClaim() {
  if
  :: owner == me -> owner = LATE + faults
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
  CALL_IS_LATE(claim_, NOBODY, nothing)
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

/* A transaction holds the writes of the handlers, and takes the letter along. */
inline completeNow() {
  event = completed; owner = NOBODY; lapsed = 0;
#ifdef TRANSACTIONAL
  handled = 1;
  if
  :: joined -> removeNow()
  :: else
  fi
#endif
}

inline complete() {
  if
  :: OWNED(me) -> completeNow(); answer = yes; printf("%d completes the event\n", me)
  :: !OWNED(me) -> answer = no; printf("%d cannot complete the event: its claim is lost\n", me)
  CALL_FAILS
  CALL_IS_LATE(complete_, LATE + faults, (joined -> failed : nothing)); giveUpClaim()
  CRASH
  fi
}

inline releaseNow() {
  event = released; owner = NOBODY; lapsed = 0
}

inline release() {
  if
  :: event == running && owner == me -> releaseNow(); answer = yes; printf("%d releases its claim\n", me)
  :: !(event == running && owner == me) -> answer = no; printf("%d cannot release: its claim is lost\n", me)
  CALL_FAILS
  CALL_IS_LATE(release_, LATE + faults, nothing); giveUpClaim()
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
  :: knows && faults > 0 -> faults--; answer = yes; printf("%d: no answer yet\n", me); late++; run Late(change_, NOBODY, why)
  :: !knows && faults > 0 -> faults--; answer = down; printf("%d: the call fails\n", me)
  :: !knows && faults > 0 -> faults--; answer = down; printf("%d: no answer yet\n", me); late++; run Late(keep_, NOBODY, why)
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
  CALL_IS_LATE(remove_, NOBODY, nothing)
  CRASH
  fi
#else
  skip
#endif
}

/* A call whose answer nobody waits for. */
proctype Late(byte call; byte number; byte why) {
  bit joined = (why != nothing);
  if
  :: atomic { call == claim_ && event != completed && (event != running || lapsed) ->
      number = LATE + faults; owner = number; event = running; lapsed = 0; claimedBefore = 1;
      printf("a late claim is granted\n") };
    /* The receiver gives it back, if it lives. */
    if
    :: atomic { event == running && owner == number -> releaseNow(); printf("a late claim is given back\n") }
    :: true
    fi
  :: atomic { call == complete_ && OWNED(number) -> completeNow(); printf("the event is completed late\n") };
    /* The receiver removes the letter, if it lives. */
    if
    :: atomic { removeNow() }
    :: true
    fi
  :: atomic { call == release_ && event == running && owner == number ->
      releaseNow(); printf("the claim is released late\n") }
  :: atomic { call == keep_ -> letter = why; owed = 1; printf("the event is kept late, as %e\n", why) }
  :: atomic { call == change_ && letter != nothing -> letter = why }
  :: atomic { call == remove_ -> removeNow(); printf("the letter is removed late\n") }
  :: true /* It is never obeyed. */
  fi;
  late--
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

/* A handler that did its work. In a transaction the work counts once it is committed. */
inline succeed() {
  runs[me] = 0;
#ifndef TRANSACTIONAL
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
  runs[me] = 0;
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
  runs[me] = 0
}

/* A receiver, or the redrive of one. From `claim` on it is src/receiver/process-event.ts. */
proctype Actor(byte me) {
  byte answer;
  byte verdict;
  bit knows;  /* There is a letter, as far as this attempt knows. */
  bit again;  /* The event has been claimed before. */
  bit answered, joined;

idle:
  atomic {
    inLease[me] = 0; runs[me] = 0; current[me] = 0;
    answer = no; verdict = nothing; knows = 0; again = 0; answered = 0; joined = 0;
    if
    :: owner == me -> owner = NOBODY
    :: else
    fi;
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

  atomic {
    if
    :: succeed(); goto settled
    :: !fixed -> fail(failed); goto settled
#ifdef LETTERS
    :: !fixed -> fail(rejected); goto settled
#endif
    :: !fixed && !inLease[me] -> giveUp(); goto settled
    :: !fixed -> printf("%d: the handlers outlast the timeout\n", me)
    CRASH
    fi
  }
  atomic {
    keep(failed);
    if
    :: answer == down
    :: else -> replyFailure()
    fi;
    answered = 1; answer = no
  }
#ifdef BUG_RELEASE_EARLY
  atomic { release() }
#endif
  atomic {
    if
    :: succeed()
    :: fail(failed)
#ifdef LETTERS
    :: fail(rejected)
#endif
    :: giveUp()
    /* They never settle, and their claim is renewed no more: nothing happens here any more. */
    :: !inLease[me] -> printf("%d: the handlers hang\n", me); goto idle
    CRASH
    fi
  }

settled:
  atomic {
    if
    :: verdict != completed -> goto unprocessed
    :: else
    fi;
#if defined(LETTERS) && defined(TRANSACTIONAL) && !defined(BUG_REMOVE_BEFORE_COMMIT)
    if
    :: me != REDRIVER || letter != nothing -> joined = 1
    :: me == REDRIVER && letter == nothing -> verdict = failed; goto unprocessed
    :: faults > 0 -> faults--; verdict = failed; goto unprocessed
    CRASH
    fi
#endif
#ifdef BUG_REMOVE_BEFORE_COMMIT
    remove()
#endif
  }
  atomic {
    complete();
    if
#ifdef TRANSACTIONAL
    :: answer == no || answer == down -> verdict = failed; goto unclaimed
#else
    :: answer == no -> verdict = failed; goto unclaimed
#endif
    :: else
    fi;
    if
    :: !joined && (knows || again) -> answer = no
    :: else -> reply2xx(); goto idle
    fi
  }
duplicate:
  atomic { remove(); reply2xx(); goto idle }

unprocessed:
#ifdef TRANSACTIONAL
  atomic { release() }
unclaimed:
  atomic {
    keep(verdict);
    if
    :: answer == down -> answered = 1
    :: else -> answer = no
    fi
  }
#else
  atomic {
    keep(verdict);
    if
    :: answer == down -> answered = 1
    :: else
    fi
  }
  atomic { release() }
  if
  :: false ->
unclaimed:
    atomic {
      keep(verdict);
      if
      :: answer == down -> answered = 1
      :: else
      fi;
      answer = no
    }
  :: else
  fi;
#endif
  goto ending;

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
#ifdef TRANSACTIONAL
  atomic {
    claim();
    if
    :: answer == granted
    :: answer == done -> goto completedMeanwhile
    :: else -> goto answering
    fi
  }
  atomic { release(); goto answering }
#else
  atomic {
    read();
    if
    :: answer == done -> goto completedMeanwhile
    :: else -> goto answering
    fi
  }
#endif
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
#ifdef TRANSACTIONAL
  releaseNow();
#endif
  printf("the lease lapses\n")
}

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
  :: atomic { attempts > 0 -> attempts = 0; printf("the sender gives up\n") }
  :: atomic { working == 0 && late == 0 && !(event == running && !lapsed) -> break }
  od;
#ifdef LETTERS
  atomic { printf("the cause is fixed\n"); fixed = 1; crashes = 0; faults = 0; redrives = 1; working = 1; run Actor(REDRIVER) }
  working == 0;
  END = (!owed || handled) && letter == nothing;
#else
  END = !owed || handled;
#endif
  assert(END)
}
