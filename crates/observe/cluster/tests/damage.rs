//! Whatever happens to the files of a place, the rows are right or an error names a file; and who does what it says gets the right rows.

mod chain;

use chain::{
    Result, append, assert_same, by_one_process, empty, reading, real, taps, with_reversed,
};
use std::fs;
use std::path::{Path, PathBuf};
use unbloat_capture::Input;
use unbloat_cluster::{
    AskedCut, ClusterError, Place, Repair, deal, index, merge, plan, seal, shard,
};
use unbloat_trace::Params;

const CUT: AskedCut = AskedCut {
    slices: Some(3),
    buckets: Some(2),
    // So that `seal` deals some again.
    warm_up_batches: Some(0),
};

const STEPS: [&str; 6] = ["index", "plan", "deal", "seal", "shard", "merge"];

/// All steps from one on, each for all its tasks.
fn steps_from(
    step: usize,
    place: &Path,
    captures: &[PathBuf],
) -> std::result::Result<Result, ClusterError> {
    let place = Place::open(place.to_str().unwrap())?;
    let go_on = || false;
    let mut rows = empty();
    for name in &STEPS[step..] {
        match *name {
            "index" => {
                let inputs: Vec<Input> = captures.iter().cloned().map(Input::File).collect();
                index(&place, &inputs, &reading(), &go_on)?;
            }
            "plan" => drop(plan(&place, &Params::default(), CUT)?),
            "deal" => (0..3).try_for_each(|slice| deal(&place, slice, &go_on).map(drop))?,
            "seal" => drop(seal(&place, &go_on)?),
            "shard" => (0..2).try_for_each(|bucket| shard(&place, bucket, &go_on).map(drop))?,
            _ => {
                let (_, outcome) = merge::<ClusterError>(&place, &mut |output| {
                    append(&mut rows, output);
                    Ok(())
                })?;
                return Ok(Result { rows, outcome });
            }
        }
    }
    unreachable!("the last step returns")
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_of(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    for file in files_of(from) {
        let copied = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(copied.parent().unwrap()).unwrap();
        fs::copy(file, copied).unwrap();
    }
}

/// What may happen to a file.
const DAMAGES: [&str; 4] = ["cut", "one bit", "empty", "lost"];

fn damage(file: &Path, how: &str) {
    let mut bytes = fs::read(file).unwrap();
    match how {
        "cut" => bytes.truncate(bytes.len() * 2 / 3),
        "one bit" => {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
        }
        "empty" => bytes.clear(),
        _ => return fs::remove_file(file).unwrap(),
    }
    fs::write(file, bytes).unwrap();
}

/// Does what the error says: removes the files after "delete", up to "and run", then runs the step that it names, and those after it.
fn follow(
    error: &ClusterError,
    place: &Path,
    captures: &[PathBuf],
) -> std::result::Result<Result, ClusterError> {
    let text = error.to_string();
    let advice = text.rsplit("; ").next().unwrap();
    let (files, step) = match (advice.strip_prefix("delete "), error) {
        (Some(rest), ClusterError::Damaged { file, .. }) => {
            match rest.split_once(" and run `unbloat cluster ") {
                Some((files, step)) => (
                    files.replace("it", &place.join(file).display().to_string()),
                    step,
                ),
                None => {
                    assert_eq!(
                        advice,
                        format!("delete {} and begin again", place.display())
                    );
                    fs::remove_dir_all(place).unwrap();
                    return steps_from(0, place, captures);
                }
            }
        }
        (_, ClusterError::OtherPlan { .. }) => {
            let other = place.with_extension("other");
            let found = steps_from(0, &other, captures);
            fs::remove_dir_all(other).unwrap();
            return found;
        }
        _ => {
            let step = text.split_once("run `unbloat cluster ");
            let (_, step) = step.unwrap_or_else(|| panic!("{text}: what is to be done?"));
            (String::new(), step)
        }
    };
    for file in files.split(" and ").filter(|file| !file.is_empty()) {
        // It may be what was lost.
        let _ = fs::remove_file(file);
    }
    let step = STEPS
        .iter()
        .position(|name| step.starts_with(name))
        .unwrap();
    steps_from(step, place, captures)
}

#[test]
fn a_damaged_file_is_harmless_or_named_and_its_repair_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let packets = with_reversed(real().into_iter().take(16_000).collect());
    let captures = taps(folder.path(), &packets)[..4].to_vec();
    let truth = by_one_process(&captures);
    let place = folder.path().join("job");
    let (mut harmless, mut named, mut begun_again) = (0, 0, 0);
    for (done, step) in STEPS.iter().enumerate().skip(1) {
        // The place before this step.
        let all = steps_until(done, &place, &captures);
        for file in all {
            for how in DAMAGES {
                // A capture without an index is not part of the trace.
                if STEPS[done] == "plan"
                    && how == "lost"
                    && file.parent() == Some(&place.join("index"))
                {
                    continue;
                }
                let copied = folder.path().join("copy");
                copy(&place, &copied);
                let file = copied.join(file.strip_prefix(&place).unwrap());
                let name = format!("{} {how} before {step}", file.display());
                damage(&file, how);
                let mut found = steps_from(done, &copied, &captures);
                for _ in 0..2 {
                    if let Err(error) = &found {
                        let is_whole = matches!(
                            error,
                            ClusterError::Damaged {
                                repair: Repair::None,
                                ..
                            }
                        );
                        begun_again += u32::from(is_whole);
                        named += 1;
                        found = follow(error, &copied, &captures);
                    } else {
                        harmless += 1;
                        break;
                    }
                }
                let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_same(&name, &truth, &found);
                fs::remove_dir_all(&copied).unwrap();
            }
        }
    }
    println!(
        "{harmless} harmless or repaired, {named} named, {begun_again} of these by beginning again"
    );
    assert!(
        named > 50 && begun_again < named / 2,
        "{named}, {begun_again}"
    );
}

/// Runs the steps before one, and returns the files of the place.
fn steps_until(step: usize, place: &Path, captures: &[PathBuf]) -> Vec<PathBuf> {
    let opened = Place::open(place.to_str().unwrap()).unwrap();
    let go_on = || false;
    match STEPS[step - 1] {
        "index" => {
            let inputs: Vec<Input> = captures.iter().cloned().map(Input::File).collect();
            index(&opened, &inputs, &reading(), &go_on).map(drop)
        }
        "plan" => plan(&opened, &Params::default(), CUT).map(drop),
        "deal" => (0..3).try_for_each(|slice| deal(&opened, slice, &go_on).map(drop)),
        "seal" => seal(&opened, &go_on).map(drop),
        _ => (0..2).try_for_each(|bucket| shard(&opened, bucket, &go_on).map(drop)),
    }
    .unwrap();
    files_of(place)
}

/// Writes a document anew, with the digest of what it says now.
fn forge(file: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let text = fs::read(file).unwrap();
    let mut whole: serde_json::Value = serde_json::from_slice(&text).unwrap();
    change(&mut whole["document"]);
    let inner = whole["document"].to_string();
    whole["blake3"] = blake3::hash(inner.as_bytes()).to_hex().as_str().into();
    fs::write(file, whole.to_string()).unwrap();
}

/// A digest is no signature: who can write here can make one.
#[test]
fn a_plan_that_cannot_be_borne_or_names_what_it_has_not_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let place = base.path().join("place");
    let packets: Vec<_> = real().into_iter().take(16_000).collect();
    let captures = taps(base.path(), &packets);
    for step in [1, 2] {
        steps_until(step, &place, &captures);
    }
    let named = |error: ClusterError| match error {
        ClusterError::Damaged { file, .. } => file,
        other => panic!("{other}"),
    };
    let slices = files_of(&place).into_iter();
    let slice = slices.filter(|file| file.to_str().unwrap().contains("/slices-"));
    let slice = slice.min().unwrap();
    let before = fs::read(&slice).unwrap();
    forge(&slice, |slice| slice["rests"][0]["input"] = 99.into());
    assert_eq!(
        named(steps_from(2, &place, &captures).err().unwrap()),
        "plan.json"
    );
    fs::write(&slice, before).unwrap();
    forge(&place.join("plan.json"), |plan| {
        plan["cut"]["slices"] = 4_000_000_000_u32.into();
        plan["cut"]["buckets"] = 4_000_000_000_u32.into();
    });
    for step in 2..STEPS.len() {
        assert_eq!(
            named(steps_from(step, &place, &captures).err().unwrap()),
            "plan.json"
        );
    }
}

/// Of whoever may write to the place: none keeps a step waiting, or takes memory by what it claims to have.
#[test]
fn what_is_no_file_or_claims_terabytes_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let whole = base.path().join("whole");
    let packets = with_reversed(real().into_iter().take(4_000).collect());
    let captures = taps(base.path(), &packets)[..1].to_vec();
    for done in 1..STEPS.len() {
        steps_until(done, &whole, &captures);
    }
    let place = base.path().join("place");
    for file in files_of(&whole) {
        let name = file.strip_prefix(&whole).unwrap();
        for how in ["fifo", "hole"] {
            let _ = fs::remove_dir_all(&place);
            copy(&whole, &place);
            let at = place.join(name);
            fs::remove_file(&at).unwrap();
            if how == "hole" {
                fs::File::create(&at).unwrap().set_len(4 << 40).unwrap();
            } else {
                let made = std::process::Command::new("mkfifo").arg(&at).status();
                assert!(made.unwrap().success());
            }
            // What is not read any more, or is only a part of, does no harm.
            for step in 1..STEPS.len() {
                if let Err(error) = steps_from(step, &place, &captures) {
                    assert!(!error.to_string().contains("memory"), "{error}");
                }
            }
        }
    }
}
